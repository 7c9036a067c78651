#pragma once
// How far off the predicted change from A to B may be, and whether it is larger than that.

#include "explain/comparison.hpp"

#include <string>

namespace trainyard {

/// The fit whose published errors hold for the comparison: that of both runs. A measurement of one GPU of A
/// that B keeps says nothing about B's kernels if batch, precision, software, model or machine differ; then
/// it is the fit of software. Unknown, with the reason, if the runs have different fits or the experiments
/// are the same, or if speeds of kernels differ that are no assumed inputs (assumed_inputs.hpp).
Known<std::string> fit_of_comparison(const Comparison& comparison);

/// `errors`: of fit_of_comparison, which must be known. Assumed inputs of the runs widen the interval by
/// their change of the ratio.
Known<RatioError> comparison_error(const Comparison& comparison, const PublishedErrors& errors);

/// Ends of the expected measured ratio of throughputs.
double lowest_ratio(const Comparison& comparison);
double highest_ratio(const Comparison& comparison);

/// Whether B's throughput is expected to differ from A's in the predicted direction: both ends of the ratio
/// are above 1, or both below. The error must be known.
bool is_beyond_error(const Comparison& comparison);

}  // namespace trainyard
