#pragma once
// Questions about a planned step: how long does it take without slowdowns, without the network, at its
// bounds, at another pace? The engine answers them in fidelity `closed`.

#include "schedule/step_plan.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// Every collective as fast as its bound and no kernel slowed by another: the time is a lower bound.
StepVariant ideal(const StepPlan& plan);

/// Collectives that take no time: only the compute and the framework remain.
StepVariant without_network(const StepPlan& plan);

/// The variant without any slowdown of kernels.
StepVariant undisturbed(StepVariant variant);

/// The lower bound of each collective.
std::vector<Seconds> bounds_of(const StepPlan& plan);

/// A graph without patterns and links: one rank of each program. Kernels of the ops in `is_paced` (by index
/// in the trace) take `pace` times as long; `collectives`: the duration of each of the plan's in a
/// simulation. Collectives still slow kernels down. The host's time before a collective and the buffers are
/// the plan's. It gives the overlap under random times.
TaskGraph paced_step(const StepPlan& plan, std::span<const Seconds> collectives,
                     const std::vector<bool>& is_paced, double pace);

}  // namespace trainyard
