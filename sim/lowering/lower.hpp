#pragma once
// Turns a model's layers into the kernels that a framework launches for them in one training step, by the
// rules of a lowering.

#include "lowering/lowering_rules.hpp"
#include "lowering/model_traits.hpp"
#include "lowering/runtime.hpp"
#include "workload/model.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct LoweredStep {
  int batch = 1;  ///< samples of a micro-batch
  Precision precision{};
  Optimizer optimizer{};
  OptimizerKernels optimizer_kernels = OptimizerKernels::foreach_;
  Layout layout = Layout::nchw;
  Runtime runtime = Runtime::eager;    ///< not fused
  bool recomputes = false;             ///< the forward kernels of each block again before its backward
  Scaling scaling = Scaling::delayed;  ///< of values in 8 bits
  double host_times = 1;               ///< factor on the host times of the lowering
  Bytes sums =
      {};  ///< moved for a value of a weight's gradient that its product adds to a sum; none: written
  bool wide_shares = false;              ///< the router's probabilities reach the experts in fp32
  std::optional<PartOfModel> part = {};  ///< if the layers are not a whole model
};

/// The trace of one step of one micro-batch, an op for each kernel or for equal ones in a row. Gradients
/// complete as in make_trace. Layers of a kind without rules have the ops of make_trace. Throws InputError as
/// make_trace does, for an optimizer without rules, and for a runtime that the rules lack.
Trace lowered_trace(const Model& model, const Lowering& rules, const LoweredStep& step);

/// lowered_trace() without the update.
Trace lowered_passes(const Model& model, const Lowering& rules, const LoweredStep& step);

/// The update of tensors with these numbers of values, after the scaler's kernels, and the cast of
/// `narrow_weights` for products in 8 bits, if that is done once in a step.
std::vector<Op> lowered_update(const std::vector<double>& tensors, const Lowering& rules,
                               const LoweredStep& step, double narrow_weights = 0);

/// Numbers of values of the tensors that a layer updates.
std::vector<double> tensors_of(const Layer& layer, const Lowering& rules);

/// Turns a forward op that backward launches again into an op of backward.
void launch_again(Op& op, const Lowering& rules, const LoweredStep& step);

/// The host that launches the ops of such a step.
LaunchingHost launching_host(const Lowering& rules, double host_times);

/// Gives an addition of gradients one kernel for each of `tensors` tensors.
void lower_addition(Op& addition, int tensors, const Lowering& rules, const LoweredStep& step);

/// Lowers the additions of all micro-batches of a step.
void lower_additions(Trace& trace, const Lowering& rules, const LoweredStep& step);

}  // namespace trainyard
