#pragma once
// Work of a software stack in a step besides communication: passes over the gradients, and host time. They
// are ops of the trace, the same for one rank and for many.

#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <string_view>

namespace trainyard {

/// Whether jobs with this precision have the pass.
bool is_done(const GradientPass& pass, Precision precision);

/// Bytes that the pass moves for this number of gradients.
Bytes bytes_of(const GradientPass& pass, const Stack& stack, Precision precision, double gradients);

/// Adds the stack's passes with `ranks: all`: those before the reduction to the end of backward, the others
/// in front of the optimizer, each as an element-wise op "gradient_work.NAME" over the gradients of one
/// micro-batch; ends the step with a host op "step_overhead". The trace must be complete otherwise:
/// accumulated, and without such ops.
void add_stack_ops(Trace& trace, const Stack& stack);

/// Host time after every step because there are several ranks, `gpus_per_node` on the fullest node: the
/// stack's step_overhead_per_gpu for all but one GPU of a node, its micro_batch_overhead for all
/// micro-batches but the last, and on several nodes its scalar_rings. A ring sends as many pieces as there
/// are ranks at the same time, even empty ones: each makes ranks - 1 hops while it is summed and as many
/// while the sum is passed on. The last to arrive has left a node 2 nodes times, less if nodes have one or
/// two ranks: a piece does not cross the edge into its first rank, nor its sum the edge before that. Source:
/// TensorFlow r2.3, core/common_runtime/ring_alg.cc and ring_reducer.cc. Zero on one GPU.
Seconds host_time_of_ranks(const Stack& stack, int micro_batches, int ranks, int nodes, int gpus_per_node);

/// Ends a step with host ops for copies of its samples, which take `alone` for one GPU and `together` for all
/// of a node; adds nothing for times of zero.
void add_input_copy(Trace& trace, Seconds alone, Seconds together);

/// Ends a step with that time as a host op; adds nothing if it is zero.
void add_ranks_overhead(Trace& trace, const Stack& stack, int ranks, int nodes, int gpus_per_node);

}  // namespace trainyard
