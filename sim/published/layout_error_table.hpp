#pragma once
// From a validation of runs whose ranks share a model to the errors from which predictions take their
// expected error (accuracy/).

#include "accuracy/published_errors.hpp"
#include "published/run_error_table.hpp"
#include "published/validate_layouts.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// The runs of a fit with their predictions, and the widening of their intervals; a family is a series. Runs
/// of families that do not count in the totals, and those that no rule gives a family, are not in it.
PublishedErrors layout_errors(const LayoutValidation& validation, LayoutFit fit);

/// How well the intervals of families hold that are left out altogether: neither the nearest runs nor the
/// widening know them. By family in the order of the rules, then that of all runs under an empty name; empty
/// for `1layout`, to which no experiment can be fitted, and if there are too few families.
std::vector<std::pair<std::string, IntervalCoverage>> layout_coverage(const LayoutValidation& validation,
                                                                      LayoutFit fit);

}  // namespace trainyard
