#pragma once
// From a validation of runs whose ranks share a model to the errors from which predictions take their
// expected error (accuracy/).

#include "accuracy/published_errors.hpp"
#include "published/run_intervals.hpp"
#include "published/validate_layouts.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// The runs of a fit with their predictions, and the widening of their intervals; a family is a series. Runs
/// of families that do not count in the totals, and those that no rule gives a family, are not in it.
PublishedErrors layout_errors(const LayoutValidation& validation, LayoutFit fit);

/// By run of the validation: its interval, and that of all other families, neither the nearest runs nor the
/// widening knowing its own; nothing for a run without a prediction, and for `1layout`, to which no
/// experiment can be fitted.
std::vector<std::optional<RunInterval>> layout_intervals(const LayoutValidation& validation, LayoutFit fit);

/// How the intervals hold of runs whose family counts in the totals.
CoverageByFamily layout_coverage(const LayoutValidation& validation, LayoutFit fit);

}  // namespace trainyard
