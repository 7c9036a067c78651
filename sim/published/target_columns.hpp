#pragma once
// What a published row says about a training until a target is reached, apart from machine and software: in
// the columns of MLPerf's results (workloads/published/README.md, "Runs to a target").

#include <string>

namespace trainyard {

/// 0 or empty: not stated.
struct TargetColumns {
  std::string round;                 ///< of MLPerf Training: "2.1"
  std::string submitter, benchmark;  ///< "resnet"
  std::string optimizer;             ///< in small letters
  double samples = 0;                ///< until the target was reached, mean of the runs
  double time_s = 0;                 ///< time to train, the score
  double energy_j = 0;               ///< in that time, at the supply
};

}  // namespace trainyard
