#pragma once
// A planned step with scaled kernel times and the collective durations of a simulation: the overlap of both
// under random times.

#include "schedule/step_plan.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// One rank of each program. Kernels of the ops in `is_paced` (by index in the trace) take `pace` times as
/// long; `collectives`: the duration of each of the plan's. Collectives still slow kernels down. The host's
/// time before a collective and the buffers are the plan's.
TaskGraph paced_step(const StepPlan& plan, std::span<const Seconds> collectives,
                     const std::vector<bool>& is_paced, double pace);

}  // namespace trainyard
