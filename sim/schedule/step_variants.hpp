#pragma once
// Task graphs that answer questions about a planned step: without slowdowns, without the network, at its
// bounds, at another pace. Those that take a plan are without patterns and links: their collectives take
// given times.

#include "schedule/step_plan.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// The step with every collective as fast as its bound and no kernel slowed by another: the ideal engine's
/// time for it is a lower bound.
TaskGraph ideal(const StepPlan& plan);

/// The step with collectives that take no time: only the compute and the framework remain.
TaskGraph without_network(const StepPlan& plan);

/// The same graph without any slowdown of kernels.
TaskGraph undisturbed(TaskGraph graph);

/// One rank of each program. Kernels of the ops in `is_paced` (by index in the trace) take `pace` times as
/// long; `collectives`: the duration of each of the plan's in a simulation. Collectives still slow kernels
/// down. The host's time before a collective and the buffers are the plan's. It gives the overlap under
/// random times.
TaskGraph paced_step(const StepPlan& plan, std::span<const Seconds> collectives,
                     const std::vector<bool>& is_paced, double pace);

}  // namespace trainyard
