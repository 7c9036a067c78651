#include "experiment/model_trace.hpp"

#include "experiment/input_copy.hpp"
#include "experiment/lowered_stack.hpp"
#include "platform/host_launch.hpp"
#include "strategy/layer_work.hpp"
#include "strategy/repeated_rows.hpp"
#include "strategy/stack_ops.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

LoweredStep lowered_step(const ResolvedExperiment& resolved, int batch) {
  LoweredStep step = lowered_step(resolved.stack, batch, resolved.settings.precision,
                                  resolved.settings.optimizer, host_launch(resolved.platform).value);
  step.recomputes = resolved.recomputes;
  return step;
}

Trace model_trace(const ResolvedExperiment& resolved, int batch) {
  const std::vector<Layer>& layers = resolved.model->layers;
  if (resolved.lowering)
    return lowered_trace(*resolved.model, *resolved.lowering, lowered_step(resolved, batch));
  Trace trace = make_trace(*resolved.model, batch, resolved.settings.precision, resolved.settings.optimizer);
  if (resolved.stack.fused_elementwise) fuse_elementwise(trace, layers);
  add_layer_work(trace, layers, resolved.stack.layer_work);
  add_repeated_rows(trace, layers, resolved.stack);
  return trace;
}

Trace forward_trace(const ResolvedExperiment& resolved, int batch) {
  Trace trace = resolved.model ? model_trace(resolved, batch) : resolved.classes.front().trace;
  const auto end = std::ranges::find_if(trace.ops, [](const Op& op) { return op.phase != Phase::forward; });
  trace.ops.erase(end, trace.ops.end());
  trace.accumulation = 1;
  if (!resolved.model) return trace;
  const ResolvedExperiment evaluated = at_batch(resolved, batch);
  add_input_copy(trace, input_copy_time(evaluated, 1),
                 input_copy_time(evaluated, resolved.cluster->gpus_on_node.front()));
  return trace;
}

ResolvedExperiment at_batch(ResolvedExperiment resolved, int batch) {
  resolved.settings.batch_per_gpu = batch;
  resolved.settings.accumulation = 1;
  return resolved;
}

}  // namespace trainyard
