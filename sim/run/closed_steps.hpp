#pragma once
// The step of one experiment under several factors on its kernel times, planned once: fits and comparisons
// ask for the same step ten times.

#include "experiment/resolve.hpp"
#include "run/run.hpp"
#include "schedule/step_plan.hpp"

#include <cstddef>
#include <optional>

namespace trainyard {

/// Between calls nothing of the experiment changes but its stack's compute_scale, slowdown and slowest_gpu.
class ClosedSteps {
public:
  /// Keeps a reference.
  explicit ClosedSteps(const ResolvedExperiment& resolved) : resolved_(resolved) {}

  /// closed_pace() of the experiment as it is now, to the bit.
  Pace pace();

  /// checked_closed_pace() of the experiment as it is now, to the bit.
  Pace checked_pace();

  /// Tasks of the plan that is kept: some 200 bytes each.
  [[nodiscard]] std::size_t tasks() const;

private:
  /// The kept plan with the present times, checked to fit into memory.
  StepPlan& plan();

  const ResolvedExperiment& resolved_;
  std::optional<StepPlan> plan_ = {};
};

}  // namespace trainyard
