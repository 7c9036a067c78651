#pragma once
// Which fields of the summary are null in this result, and why. A quantity that was not modelled is never 0.

#include "run/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// Field of summary.json -> reason. The reasons the study gave win over the general ones.
std::map<std::string, std::string> unmodelled(const Result& result);

/// The same in a few words for people: "memory", "energy", and what the study itself left out.
std::vector<std::string> unmodelled_topics(const Result& result);

}  // namespace trainyard
