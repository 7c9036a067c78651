#pragma once
// How well the intervals of comparisons hold for a table of errors that has no widenings yet. Widenings and
// coverage come from one scoring of all pairs, in half the time of two.

#include "accuracy/ratio_error.hpp"

#include <vector>

namespace trainyard {

/// ratio_coverage() of the errors with ratio_widenings() in place of theirs.
std::vector<RatioCoverage> fitted_ratio_coverage(const PublishedErrors& errors);

}  // namespace trainyard
