#include "experiment/whole_step.hpp"

#include "experiment/input_copy.hpp"
#include "experiment/model_trace.hpp"
#include "experiment/node_host.hpp"
#include "limits/run_limits.hpp"
#include "strategy/stack_ops.hpp"
#include "workload/accumulate.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard {

void complete_step(ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  if (settings.parallelism && !is_replay(settings)) return;
  for (RankClass& one : resolved.classes) {
    if (one.trace.accumulation > 1 || settings.accumulation == 1) continue;
    const double ops = 1.0 * settings.accumulation * static_cast<double>(one.trace.ops.size());
    expect_ops(ops, "every op of every micro-batch is listed, and a smaller 'accumulation' has fewer");
    accumulate(one.trace, settings.accumulation, element_sizes(settings.precision).gradient,
               {.reduces_each = resolved.stack.reduce_each_micro_batch,
                .fuses_additions = resolved.stack.fused_accumulation});
    if (resolved.lowering)
      lower_additions(one.trace, *resolved.lowering, lowered_step(resolved, settings.batch_per_gpu));
  }
  if (!is_replay(settings)) add_stack_ops(resolved.classes.front().trace, resolved.stack);
}

namespace {

void add_overhead(Trace& trace, const ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  add_ranks_overhead(trace, resolved.stack, cluster.ranks(), cluster.nodes,
                     std::ranges::max(cluster.gpus_on_node));
}

/// The op as a job of the experiment's ranks runs it; nothing if it takes no time there.
std::optional<Op> with_time_of_ranks(Op op, const ResolvedExperiment& resolved, int micro_batches) {
  const Cluster& cluster = *resolved.cluster;
  if (cluster.ranks() == 1) return std::nullopt;
  if (op.duration) return op;
  Trace made;
  made.accumulation = micro_batches;
  if (op.layer == shared_copy_layer)
    add_input_copy(made, {},
                   host_copy_time(cluster, op.bytes, cluster.gpus_on_node.front()) -
                       host_copy_time(cluster, op.bytes, 1));
  else
    add_overhead(made, resolved);
  if (made.ops.empty()) return std::nullopt;
  op.duration = made.ops.front().duration;
  op.source = made.ops.front().source;
  return op;
}

void set_times_of_ranks(Trace& trace, const ResolvedExperiment& resolved) {
  std::vector<Op> ops;
  ops.reserve(trace.ops.size());
  for (Op& op : trace.ops) {
    if (op.role != OpRole::ranks_overhead)
      ops.push_back(std::move(op));
    else if (auto timed = with_time_of_ranks(std::move(op), resolved, trace.accumulation))
      ops.push_back(*std::move(timed));
  }
  trace.ops = std::move(ops);
}

}  // namespace

void add_work_of_ranks(ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  const SharedHost shared = shared_host(resolved);
  for (RankClass& one : resolved.classes) {
    share_host(one.trace, shared);
    if (is_replay(resolved.settings))
      set_times_of_ranks(one.trace, resolved);
    else
      add_overhead(one.trace, resolved);
  }
  if (is_replay(resolved.settings) || resolved.settings.parallelism) return;
  add_input_copy(resolved.classes.front().trace, input_copy_time(resolved, 1),
                 input_copy_time(resolved, cluster.gpus_on_node.front()));
}

}  // namespace trainyard
