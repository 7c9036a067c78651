#pragma once
// Heads of the columns of a comparison: a letter, and the values that tell a run apart from the others.

#include "explain/comparison.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// "A: 10 Gbps", "B: 25 Gbps" by the values in which the runs differ, the most telling first, as many as fit
/// into `width` columns; only the letters if none fits. `comparisons`: of the first run with the others.
std::vector<std::string> run_heads(std::span<const Comparison> comparisons, std::size_t width);

}  // namespace trainyard
