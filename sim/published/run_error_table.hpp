#pragma once
// From a validation to the errors from which predictions take their expected error (accuracy/).

#include "accuracy/expected_error.hpp"
#include "accuracy/published_errors.hpp"
#include "accuracy/ratio_error.hpp"
#include "published/validate_training.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// The runs of a fit with their predictions, and the widening of their intervals and of those of their pairs.
/// With `nothing` and `software` also the runs on one GPU that software is fitted to, each predicted without
/// its series; they are comparable, but only the runs of the totals are scored. Runs that rules about
/// outcomes leave out are not in it.
PublishedErrors published_errors(const TrainingValidation& validation, FitKind fit);

/// How well the intervals of scored runs hold, each given by the other series.
struct IntervalCoverage {
  int runs = 0;
  double covered = 0;     ///< share of the runs that lie in their intervals
  double half_width = 0;  ///< median, relative to the predicted throughput
};

/// The same of runs that have intervals: some at least.
IntervalCoverage coverage_of(const std::vector<std::pair<const PublishedError*, ExpectedError>>& runs);

/// By family in the order of the rules, then that of all runs under an empty name. Nothing for `1node`.
std::vector<std::pair<std::string, IntervalCoverage>> interval_coverage(const TrainingValidation& validation,
                                                                        FitKind fit);

/// The same for the expected errors of comparisons, by what differs. Nothing for `1node`, and for a user's
/// rows, among whose pairs most would be shipped ones.
std::vector<RatioCoverage> pair_coverage(const TrainingValidation& validation, FitKind fit);

}  // namespace trainyard
