#pragma once
// What a software stack adds to the ops of a step besides communication: passes over the gradients, and time
// of the host. They are ops of the trace, of one rank as of many.

#include "strategy/stack.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// True if a pass happens with this precision.
bool is_done(const GradientPass& pass, Precision precision);

/// What it moves over so many gradients.
Bytes bytes_of(const GradientPass& pass, const Stack& stack, Precision precision, double gradients);

/// Appends the stack's passes of all ranks to backward (those before the reduction) and puts the others in
/// front of the optimizer, each as an element-wise op "gradient_work.NAME" over the gradients of one
/// micro-batch; ends the step with an op "step_overhead" of the host. The trace is complete otherwise:
/// accumulated, and without such ops.
void add_stack_ops(Trace& trace, const Stack& stack);

}  // namespace trainyard
