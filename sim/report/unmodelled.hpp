#pragma once
// Which fields of the summary are null in this result, and why. A quantity that was not modelled is never 0.

#include "study/result.hpp"

#include <map>
#include <string>

namespace trainyard {

/// Field of summary.json -> reason. The reasons the study gave win over the general ones.
std::map<std::string, std::string> unmodelled(const Result& result);

}  // namespace trainyard
