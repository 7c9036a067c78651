#pragma once
// The task graph of a step whose ranks share a model: one program for each stage, which runs the passes of
// its micro-batches in the order of the schedule, exchanges activations with its neighbours, reduces
// gradients among its replicas and ends the step.

#include "experiment/resolve.hpp"
#include "schedule/step_plan.hpp"

namespace trainyard {

/// Plans the step of an experiment with a layout. Passes become segments of the graph, except passes during
/// which gradients are reduced or parameters gathered. Throws InputError (an impossible algorithm or
/// precision) or Unreachable.
StepPlan plan_layout_step(const ResolvedExperiment& resolved);

/// Gives the ops of such a plan the times that the experiment's stack gives them now: equal to a new plan if
/// the stack's compute_scale, slowdown and slowest_gpu alone have changed.
void set_op_times(const ResolvedExperiment& resolved, StepPlan& plan);

}  // namespace trainyard
