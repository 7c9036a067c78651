#include "run/export_trace.hpp"

#include "experiment/input_copy.hpp"
#include "experiment/op_times.hpp"
#include "experiment/slowest_gpu.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "schedule/step_plan.hpp"

#include <algorithm>

namespace trainyard {

namespace {

bool takes_time_of_ranks(const Stack& stack, int micro_batches) {
  return stack.scalar_rings || stack.step_overhead_per_gpu.value > Seconds() ||
         (micro_batches > 1 && stack.micro_batch_overhead.value > Seconds());
}

Op host_op(std::string_view layer, Bytes bytes) {
  Op op;
  op.phase = Phase::optimizer;
  op.layer = layer;
  op.kind = OpKind::host;
  op.role = role_of(layer);
  op.bytes = bytes;
  return op;
}

/// Replaces the host times of this job's ranks by ops without a time, which a replay computes for its own.
void leave_times_to_ranks(const ResolvedExperiment& resolved, Trace& trace) {
  std::erase_if(trace.ops, [](const Op& op) { return op.role == OpRole::ranks_overhead; });
  const Seconds copy = input_copy_time(resolved, 1);  // the last op, if there is any
  if (takes_time_of_ranks(resolved.stack, trace.accumulation))
    trace.ops.insert(trace.ops.end() - (copy > Seconds() ? 1 : 0), host_op(ranks_overhead_layer, {}));
  if (copy > Seconds()) trace.ops.push_back(host_op(shared_copy_layer, copied_input(resolved)));
}

}  // namespace

Trace export_trace(const ResolvedExperiment& resolved, bool with_durations) {
  if (resolved.layout) {
    throw InputError("a trace has one step for all ranks, but here ranks share a model",
                     "leave out 'parallelism'");
  }
  if (resolved.settings.traces)
    throw InputError("a trace has one step for all ranks, but here they replay traces of their own",
                     "edit these traces");
  const Cluster& cluster = *resolved.cluster;
  const StepPlan plan = plan_step(only_class(resolved).trace, resolved.gpu, resolved.stack, cluster,
                                  resolved.settings.sync, resolved.library);
  Trace trace = only_class(resolved).trace;
  Stack on_mean_gpu = resolved.stack;
  on_mean_gpu.slowest_gpu = 1;
  const std::vector<OpTime> times = op_times(trace, resolved.gpu, on_mean_gpu);
  const bool varies = waits_for_slowest(resolved);
  const bool names_collectives =
      std::ranges::any_of(trace.ops, [](const Op& op) { return !op.communications.empty(); });
  if (!with_durations)
    trace.gpu.clear();
  else if (trace.gpu.empty())
    trace.gpu = resolved.gpu.name;
  if (has_memory(resolved)) trace.memory = fullest(memory_reports(resolved, plan.channels > 0)).peak;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    Op& op = trace.ops[i];
    if (needs_duration(op.kind)) continue;
    op.duration.reset();
    op.source.reset();
    op.kernel = {};
    if (!with_durations) continue;
    op.duration = times[i].duration;
    op.source = times[i].source;
    if (varies) op.kernel = times[i].kernel;
  }
  if (!is_replay(resolved.settings)) leave_times_to_ranks(resolved, trace);
  // A trace that names its collectives keeps them. Otherwise the stack's reductions are named, unless dates
  // decide which gradients go together: these differ between numbers of ranks. Work around them has no
  // columns, so that a replay generates it anew, as it does broadcasts of buffers.
  if (names_collectives || resolved.settings.sync.kind != SyncKind::all_reduce || resolved.stack.fusion)
    return trace;
  for (const Collective& collective : plan.graph.collectives) {
    if (!reduces(collective.operation)) continue;
    trace.ops[at(collective.label.ready_op)].communications.push_back(
        {.operation = collective.operation, .size = collective.size});
  }
  return trace;
}

}  // namespace trainyard
