#pragma once
// Time of a synchronous step beyond its kernels if these are slower or faster than modelled: the faster they
// are, the less communication they hide, and a step is never shorter than its collectives need.

#include "schedule/step_plan.hpp"

#include <map>
#include <vector>

namespace trainyard {

class StepAtPace {
public:
  /// `collectives`: durations of the plan's collectives in a simulation. `is_paced`: by op of the trace,
  /// whether the time of its kernels changes.
  StepAtPace(StepPlan plan, std::vector<Seconds> collectives, std::vector<bool> is_paced);

  /// Time of a step minus `compute`, the total time of the paced kernels, all scaled by the same factor.
  /// Replayed at factors of 6 bits, linear between them.
  Seconds beyond(Seconds compute);

  /// Lower bound for any speed of the kernels: the collectives one after the other, each at its bound, and
  /// the host's work around them.
  [[nodiscard]] Seconds least() const;

private:
  Seconds step(double pace);

  StepPlan plan_;
  std::vector<Seconds> collectives_;
  std::vector<bool> is_paced_;
  Seconds nominal_;
  std::map<double, Seconds> known_;  ///< by pace
};

}  // namespace trainyard
