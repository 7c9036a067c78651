#pragma once
// The columns of a published row about a training until a target is reached, apart from machine and software:
// those of MLPerf's results (workloads/published/README.md, "Runs to a target").

#include <string>

namespace trainyard {

/// 0 or empty: not stated.
struct TargetColumns {
  std::string round;                 ///< of MLPerf Training: "2.1"; or "DAWNBench"
  std::string submitter, benchmark;  ///< "resnet"
  std::string optimizer;             ///< in small letters
  double samples = 0;                ///< until the target was reached, mean of the runs
  int runs = 0;                      ///< that reached it
  double epochs = 0;                 ///< of the run; given to the prediction in place of `samples`
  double time_s = 0;                 ///< time to train, the score
  double cost_usd = 0;               ///< of that time
  double energy_j = 0;               ///< in that time, at the supply
  double metered_s = 0;              ///< with energy_j: the time of these runs, mean
  std::string result_submitter;      ///< with energy_j: of the result that it belongs to
};

}  // namespace trainyard
