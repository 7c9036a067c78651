#pragma once
// The interval that `run` prints as the expected error of a case, and whether the measurement lies in it.
// Both come from the errors that are shipped, never from the rows that are being validated: the interval of a
// row does not depend on the other rows of a file.

#include "accuracy/expected_error.hpp"
#include "accuracy/ratio_error.hpp"
#include "published/validation.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// An interval and the measurement that it is about.
struct CaseInterval {
  double ratio = 0;          ///< measured / predicted - 1
  double low = 0, high = 0;  ///< of that, as `run` prints it
  /// Without the shipped errors of the runs with the case's property that is left out; nothing if too few
  /// are left.
  std::optional<std::pair<double, double>> held_out = {};
  double mean_distance = 0;  ///< of the runs that `held_out` comes from
};

bool is_inside(const CaseInterval& interval);
bool is_inside_held_out(const CaseInterval& interval);

/// By case: of throughputs, figures of targets and sizes of memory; of a report the widest over the ends of
/// its ranges. Nothing without a prediction, or where no error is shipped.
std::vector<std::optional<CaseInterval>> case_intervals(const Validation& validation, Fit fit);

/// Whether the measured figure lies in the interval of a report's experiment without its ranges. Empty
/// without an interval.
std::optional<bool> is_inside_without_ranges(const ScoredCase& scored, Fit fit);

/// How well the intervals of some cases hold.
struct IntervalCoverage {
  std::string name;  ///< of the family or quarter; empty: all that count in the totals
  int rows = 0;
  double covered = 0;     ///< share of the cases that lie in the interval that `run` prints
  double half_width = 0;  ///< median, relative to the prediction
  int held_out_rows = 0;  ///< those that have an interval without the runs of their property
  double held_out_covered = 0, held_out_half_width = 0;
};

struct IntervalCoverages {
  std::vector<IntervalCoverage> families = {};  ///< in the order of the rules
  std::optional<IntervalCoverage> all = {};     ///< nothing without cases
  std::optional<IntervalCoverage> sizes = {};   ///< of published sizes of memory; nothing without any
  /// Coverage of the four quarters of all cases with an interval held out, by the distance of the runs behind
  /// the interval: the nearest first. Empty with fewer than 40 such cases.
  std::vector<IntervalCoverage> quarters = {};
};

/// Reports count though they are incomplete: their ranges say what is not known.
IntervalCoverages interval_coverage(const Validation& validation, Fit fit);

/// How many published pairs lie in the interval that `compare` prints; empty for rows of a user.
std::vector<RatioCoverage> pair_coverage(const Validation& validation, Fit fit);

/// The errors from which `run` takes its intervals, as `validate --errors` writes them: scored cases and, of
/// training with the fits `nothing` and `software`, the runs that software was fitted to, each predicted
/// without its series.
PublishedErrors error_table(const Validation& validation, Fit fit);

/// "dlperf.csv:63", as tables of errors name a row.
std::string place_of(const PublishedRow& row);

}  // namespace trainyard
