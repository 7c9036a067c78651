#pragma once
// What a software stack adds to the ops of a step besides communication: passes over the gradients, and time
// of the host. They are ops of the trace, of one rank as of many.

#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <string_view>

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

/// The op of the host that a step of one rank does not have.
constexpr std::string_view ranks_overhead_layer = "step_overhead_of_ranks";

/// What hosts do behind every step because there are several ranks, `gpus_per_node` on the fullest node: the
/// stack's step_overhead_per_gpu for all but one GPU of a node, its micro_batch_overhead for all
/// micro-batches but the last, and on several nodes its scalar_rings. A ring has as many pieces as ranks,
/// empty or not, under way at the same time: each makes ranks - 1 hops while it is added up and as many while
/// the sum is handed on. The last to arrive has left a node 2 nodes times, less where nodes have one or two
/// ranks: a piece does not cross the edge behind its beginning, nor the sum the one before that. Source:
/// TensorFlow r2.3, core/common_runtime/ring_alg.cc and ring_reducer.cc. Zero on one GPU.
Seconds host_time_of_ranks(const Stack& stack, int micro_batches, int ranks, int nodes, int gpus_per_node);

/// Ends a step with that time as an op of the host; with nothing where there is none.
void add_ranks_overhead(Trace& trace, const Stack& stack, int ranks, int nodes, int gpus_per_node);

}  // namespace trainyard
