#include "run/export_trace.hpp"

#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "schedule/step_plan.hpp"

#include <algorithm>

namespace trainyard {

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
  const bool names_collectives =
      std::ranges::any_of(trace.ops, [](const Op& op) { return !op.communications.empty(); });
  if (has_memory(resolved)) trace.memory = fullest(memory_reports(resolved, plan.channels > 0)).peak;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    Op& op = trace.ops[i];
    if (needs_duration(op.kind)) continue;
    op.duration.reset();
    op.source.reset();
    if (!with_durations) continue;
    op.duration = plan.op_times.front()[i].duration;
    op.source = plan.op_times.front()[i].source;
  }
  // A trace that names its collectives keeps them. Otherwise the stack's reductions are named: work around
  // them has no columns, so that a replay generates it anew, as it does broadcasts of buffers.
  if (names_collectives || resolved.settings.sync.kind != SyncKind::all_reduce) return trace;
  for (const Collective& collective : plan.graph.collectives) {
    if (!reduces(collective.operation)) continue;
    trace.ops[at(collective.label.ready_op)].communications.push_back(
        {.operation = collective.operation, .size = collective.size});
  }
  return trace;
}

}  // namespace trainyard
