#pragma once
// The expected error of a prediction as a random variable, for draws: log(measured / predicted) of the
// throughput is normal, with a tenth on each side of the interval of expected_error.hpp. Two layouts of one
// job have a part of their errors in common, measured from published runs that differ in nothing but the
// layout or the batch.

#include "accuracy/expected_error.hpp"

namespace trainyard {

/// The middle of the interval and the standard deviation of log(measured / predicted).
struct ErrorSpread {
  double centre = 0;
  double sd = 0;
};

ErrorSpread error_spread(const ExpectedError& expected);

/// The common part of the errors of runs with the same machine, model, software and number of GPUs.
struct CommonError {
  double share = 0;  ///< of the variance, 0 to 1: the correlation of two such runs' errors
  int sets = 0;      ///< sets of at least two such runs, from one family each
  int runs = 0;
};

/// Correlation of the errors of scored runs within these sets, each error less the centre of its interval and
/// in units of its standard deviation, the interval being that of the other families. Every run counts the
/// same: a set's pairs have the weight of its runs (intraclass correlation, R. A. Fisher, "Statistical
/// Methods for Research Workers", 1925, section 38, with a mean of 0 in place of the sample's). All in common
/// if there are no such sets.
CommonError common_error(const PublishedErrors& errors);

}  // namespace trainyard
