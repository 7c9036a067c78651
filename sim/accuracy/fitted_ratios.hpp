#pragma once
// How well the intervals of comparisons hold for a table of errors that has no widenings yet: they are found
// on the way, which takes half the time of one after the other.

#include "accuracy/ratio_error.hpp"

#include <vector>

namespace trainyard {

/// ratio_coverage() of the errors with ratio_widenings() in place of theirs.
std::vector<RatioCoverage> fitted_ratio_coverage(const PublishedErrors& errors);

}  // namespace trainyard
