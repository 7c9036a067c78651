#pragma once
// The expected error of a prediction: the interval of measured / predicted in which 80 % of comparable
// published runs lie. Comparable are the runs nearest in machine, GPU, software, model, precision and scale.
// Method: their 10 % and 90 % quantiles, widened with the mean distance and by one factor for all, chosen so
// that of all runs, each without those of its series, 80 % lie in their intervals (locally weighted conformal
// prediction, Lei et al. 2018, section 5.2, with leave-one-out in place of a split).
// A job with a property that no run has, such as a new stack or GPU generation, has on each side the wider of
// that interval and that of runs which were predicted as if the property had been new for them too
// (new_circumstances.hpp).
// Runs whose ranks share a model have tables of their own, whose series are the families of `validate`: an
// interval comes from several families, and each run's without all of its family.

#include "accuracy/error_bounds.hpp"
#include "accuracy/published_errors.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Share of comparable runs inside the interval.
inline constexpr double expected_share = 0.8;

/// Runs, or pairs of runs, that an interval comes from. Fewer give quantiles that jump, more are less alike.
/// The median half width changes by less than a tenth from 10 to 30.
inline constexpr std::size_t nearest_count = 15;

/// The fewest runs for processors, of which few were published; all must be on the same machine.
inline constexpr std::size_t least_on_processors = 5;

/// The interval for a machine of processors without such runs: assumed, a factor of two either way, or the
/// largest error of any run on processors, all of which lie within it. Errors on one machine say little about
/// another: its processors, network and software are others.
inline constexpr double factor_on_other_processors = 2;

/// The most runs that one family adds to an interval, if ranks share the model: runs of a family have an
/// error in common, so that an interval from one family would be too narrow for any other job.
inline constexpr std::size_t most_of_a_family = 5;

/// The narrowest half width: the same run published twice differs by 0.4 to 2.5 %.
inline constexpr double narrowest_half_width = 0.02;

/// Half of an interval from a low to a high quantile, whose runs or pairs have this mean distance. It grows
/// with the distance beyond 1.5, which four of five published runs do not reach.
constexpr double half_width(double low, double high, double mean_distance) {
  constexpr double growth = 0.3;
  constexpr double near = 1.5;
  const double beyond = mean_distance > near ? mean_distance - near : 0;
  return ((high - low) / 2 + narrowest_half_width) * (1 + growth * beyond);
}

struct ExpectedError {
  double low = 0, high = 0;  ///< of measured / predicted - 1
  int runs = 0;              ///< number of runs it comes from
  int series = 0;            ///< number of series, or of families, that these are of
  double mean_distance = 0;  ///< of these runs from the prediction
  /// The run most like the prediction: of those with its software, if any of the runs has it.
  PublishedError nearest = {};
  std::optional<PublishedError> same =
      {};  ///< a published run in the same circumstances, the nearest in batch
  /// "horovod on hopper", "a decoder": the properties that no run has, whose bounds count, too.
  std::vector<std::string> unmeasured = {};
  /// The prediction has settings that were chosen with these runs in view, and they were predicted without
  /// them.
  bool is_either_way = false;
  /// For a trace whose kernels were measured (replay_error.hpp) `runs` are steps that were measured and
  /// replayed, `pairs` published pairs of runs on one and on several GPUs; on one GPU there are none, and
  /// `nearest` is empty.
  bool is_of_replays = false;
  int pairs = 0;
  /// No run on this machine of processors is known: the interval is assumed, and the runs are on others.
  bool is_of_other_machines = false;
};

/// The interval with the larger of its errors on both sides, as a factor: -30 to +43 %.
ExpectedError either_way(ExpectedError expected);

inline ErrorBounds bounds_of(const ExpectedError& expected) {
  return {.low = expected.low, .high = expected.high};
}

/// 0 for the same circumstances; a difference in an important property, such as the machine, counts 1. If
/// ranks share both models, the way they do takes the place of the model: whether layers are divided, whether
/// there is a pipeline, what is sharded, the tokens of a micro-batch, and whether there are experts, which
/// counts 2: their kernels and collectives are others.
double distance(const Circumstances& a, const Circumstances& b);

/// `without_series`: a series that is left out. Nothing if fewer runs are left than an interval needs, also
/// not on a machine of processors without runs of its own if a series is left out.
std::optional<ExpectedError> expected_error(const PublishedErrors& errors, const Circumstances& of,
                                            std::optional<int> without_series = std::nullopt);

/// Results of expected_error(), with all series.
struct ExpectedErrorMemo {
  static constexpr std::size_t most = 4096;
  Memo<Circumstances, std::optional<ExpectedError>, CircumstancesHash> by_job{most};
};

/// Makes a table keep results of expected_error(). The table must not change afterwards.
void keep_expected_errors(PublishedErrors& errors);

/// The factor on the intervals with which 80 % of the scored runs lie in theirs; 1 if there are none. Runs
/// with a property that only their series has do not count, unless the fit is that of one GPU.
double widening_of(const PublishedErrors& errors);

/// Whether measured / predicted - 1 lies in the interval.
bool covers(const ExpectedError& interval, double ratio);

}  // namespace trainyard
