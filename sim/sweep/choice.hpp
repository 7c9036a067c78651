#pragma once
// Chooses a point: each point's time, cost and energy of the training, the smallest of each under the goal's
// limits, and the points that no other beats.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace trainyard {

/// An interval of times around an expected one.
struct TimeRange {
  double low_s = 0;
  std::optional<double> high_s;  ///< nothing if too many repeats of a learner do not reach the target
};

/// Needs of all of the goal's epochs, or until the target. Unknown needs are empty.
struct Needs {
  std::optional<double> time_s;
  std::optional<double> cost_usd;
  std::optional<double> energy_j;
  /// 80 % of runs are expected to take between these times; of a learner the quartiles of its repeats.
  std::optional<TimeRange> time_range = {};
  std::optional<double> accuracy = {};  ///< expected at the end of a fixed number of epochs, as a share
  std::optional<double> accuracy_low = {}, accuracy_high = {};  ///< 80 % of runs are expected between these
  bool is_rent_assumed = false;
  bool is_beyond = false;  ///< the published runs behind samples or accuracy have smaller batches
};

/// The needs of each row; nothing is known for a failed row, or if the model does not define an epoch. Whole
/// jobs give their totals. Otherwise rent is paid for the length of the training, and energy is the average
/// power times its length. In the time of a job, steps and evaluations have the expected error of the
/// throughput, and to a target that of the samples as well; start-up, checkpoints and faults are taken as
/// exact. Without a job the whole time has the error of the throughput. If the points learn
/// (is_of_learners()), the time is the simulated one to the target, which is unknown for points that do not
/// reach it.
std::vector<Needs> needs_of(const SweepResult& result);

/// Whether points are chosen by the time in which a learner reaches its target: points learn, some reach it,
/// and neither the goal nor the experiments name another length of the training.
bool is_of_learners(const SweepResult& result);

/// Rows by their indices.
struct Choice {
  std::optional<std::size_t> fastest, cheapest, least_energy;
  std::optional<std::size_t> most_accurate;  ///< the fastest of equals
  /// Rows that no other row beats: as good in time, cost, energy and accuracy and better in one of them.
  /// Unknown values count as worst. Sorted by time.
  std::vector<std::size_t> pareto;
};

/// Among the rows that satisfy the limits of the sweep's goal; a limit on an unknown need is not satisfied.
Choice choose(const SweepResult& result, const std::vector<Needs>& needs);

}  // namespace trainyard
