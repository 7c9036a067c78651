#pragma once
// From a validation to the errors from which predictions take their expected error (accuracy/).

#include "accuracy/expected_error.hpp"
#include "accuracy/published_errors.hpp"
#include "accuracy/ratio_error.hpp"
#include "published/run_intervals.hpp"
#include "published/validate_training.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// The runs of a fit with their predictions, and the widening of their intervals and of those of their pairs.
/// With `nothing` and `software` also the runs on one GPU that software is fitted to, each predicted without
/// its series; they are comparable, but only the runs of the totals are scored. Runs that rules about
/// outcomes leave out are not in it.
PublishedErrors published_errors(const TrainingValidation& validation, FitKind fit);

/// By run of the validation: its interval; nothing for a run without a prediction or a fit without intervals.
std::vector<std::optional<RunInterval>> run_intervals(const TrainingValidation& validation, FitKind fit);

/// How the intervals of scored runs hold. Empty for `1node`, and where no errors are shipped.
CoverageByFamily interval_coverage(const TrainingValidation& validation, FitKind fit);

/// The same for the expected errors of comparisons, by what differs: of the shipped errors alone, each pair
/// without its series. Empty for `1node`, where no errors are shipped, and for a user's rows, among whose
/// pairs most would be shipped ones.
std::vector<RatioCoverage> pair_coverage(const TrainingValidation& validation, FitKind fit);

}  // namespace trainyard
