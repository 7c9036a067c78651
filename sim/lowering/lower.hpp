#pragma once
// From a model's layers to the kernels that a framework launches for them in one training step, by the rules
// of a lowering.

#include "lowering/lowering_rules.hpp"
#include "lowering/runtime.hpp"
#include "workload/model.hpp"

namespace trainyard {

struct LoweredStep {
  int batch = 1;  ///< samples of a micro-batch
  Precision precision{};
  Optimizer optimizer{};
  OptimizerKernels optimizer_kernels = OptimizerKernels::foreach_;
  Layout layout = Layout::nchw;
  Runtime runtime = Runtime::eager;  ///< not fused
  bool recomputes = false;           ///< the forward kernels of each block again before its backward
  double host_times = 1;             ///< factor on the host times of the lowering
};

/// The trace of one step of one micro-batch, an op for each kernel or for equal ones in a row. Gradients
/// complete as in make_trace. Layers of a kind without rules have the ops of make_trace. Throws InputError as
/// make_trace does, for an optimizer without rules, and for a runtime that the rules lack.
Trace lowered_trace(const Model& model, const Lowering& rules, const LoweredStep& step);

/// Makes the additions of gradients in such a step of several micro-batches a kernel for each tensor.
void lower_additions(Trace& trace, const Lowering& rules, Runtime runtime, double host_times);

}  // namespace trainyard
