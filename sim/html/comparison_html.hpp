#pragma once
// A comparison of runs as one page for a browser without a network, which looks like report.html.

#include "explain/comparison.hpp"

#include <span>
#include <string>

namespace trainyard {

/// The whole file. `comparisons`: of the first run with each of the others, at least one. The text depends
/// only on the arguments; `version` is that of the program.
std::string comparison_html(std::span<const Comparison> comparisons, const std::string& version);

}  // namespace trainyard
