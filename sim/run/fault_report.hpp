#pragma once
// The effect of faults and checkpoints on a job: the values for the summary, --json and checkpoints.csv.

#include "units/quantity.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// How long the job takes with another checkpoint interval; a row of checkpoints.csv.
struct IntervalRow {
  Seconds every;
  std::optional<Seconds> wall;  ///< nothing if the job does not finish
  /// Time by the closed form, if the only events are memoryless faults that stop the job.
  std::optional<Seconds> expected;
};

/// Means over `runs`. wall = work + lost + slowed + writing + restarting + waiting.
struct FaultReport {
  int runs = 1;
  Seconds work, wall, lost, slowed, writing, restarting, waiting;
  double faults = 0;
  double restarts = 0;
  double checkpoints = 0;  ///< written
  double slowest_gpu = 0;  ///< share of the work in which GPUs wait for the one with the longest kernels
  double share = 0;        ///< work / wall
  double share_low = 0;    ///< 95 % of such means lie between low and high
  double share_high = 0;
  std::optional<Seconds> between_stops;  ///< mean time between faults that stop the job

  Bytes checkpoint_size;
  Seconds write;                 ///< of one checkpoint
  Seconds stall;                 ///< the part of it that training waits for
  std::optional<Seconds> every;  ///< the interval in use; nothing without checkpoints
  bool is_daly = false;          ///< true if it was not given
  std::optional<Seconds> young, daly;
  std::optional<Seconds> best;  ///< the element of `intervals` with the shortest wall time
  double best_share = 0;
  std::vector<IntervalRow> intervals;
};

}  // namespace trainyard
