#pragma once
// The task graph of a step in which classes of ranks replay traces of their own and meet in the collectives
// and messages that these name.

#include "experiment/resolve.hpp"
#include "schedule/step_plan.hpp"

namespace trainyard {

/// Plans the step of an experiment with `traces`. Compute ops are in trace order, each launch on the stream
/// of its groups or its direction. Throws InputError as trace_meetings(), and at the lines where ranks would
/// wait for each other for ever.
StepPlan plan_traces_step(const ResolvedExperiment& resolved);

}  // namespace trainyard
