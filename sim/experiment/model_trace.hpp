#pragma once
// The ops of a rank that holds a whole model, as its stack runs them.

#include "experiment/resolved_experiment.hpp"
#include "lowering/lower.hpp"

namespace trainyard {

/// How a stack with a lowering runs a micro-batch of `batch` samples. Requires one.
LoweredStep lowered_step(const ResolvedExperiment& resolved, int batch);

/// One micro-batch of `batch` samples: kernels that the stack fuses are one op, work that it adds to layers
/// is there; passes over gradients, host times and further micro-batches are not. Requires a model. Throws as
/// make_trace().
Trace model_trace(const ResolvedExperiment& resolved, int batch);

/// The forward pass of a micro-batch of `batch` samples, with the copies of its samples to the GPUs if the
/// stack makes steps wait for them. For a replayed trace, the forward pass of its first micro-batch; `batch`
/// is then the trace's.
Trace forward_trace(const ResolvedExperiment& resolved, int batch);

/// The experiment with this batch per GPU in one micro-batch.
ResolvedExperiment at_batch(ResolvedExperiment resolved, int batch);

}  // namespace trainyard
