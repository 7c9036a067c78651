#include "experiment/whole_step.hpp"

#include "experiment/input_copy.hpp"
#include "limits/run_limits.hpp"
#include "strategy/stack_ops.hpp"
#include "workload/accumulate.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>

namespace trainyard {

void complete_step(ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  if (settings.parallelism && !is_replay(settings)) return;
  for (RankClass& one : resolved.classes) {
    if (one.trace.accumulation > 1 || settings.accumulation == 1) continue;
    const double ops = 1.0 * settings.accumulation * static_cast<double>(one.trace.ops.size());
    expect({.listed_ops = ops, .simulated_ops = ops},
           "every op of every micro-batch is listed, and a smaller 'accumulation' has fewer");
    accumulate(one.trace, settings.accumulation, element_sizes(settings.precision).gradient,
               resolved.stack.reduce_each_micro_batch);
  }
  if (!is_replay(settings)) add_stack_ops(resolved.classes.front().trace, resolved.stack);
}

void add_work_of_ranks(ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  for (RankClass& one : resolved.classes)
    add_ranks_overhead(one.trace, resolved.stack, cluster.ranks(), cluster.nodes,
                       std::ranges::max(cluster.gpus_on_node));
  if (resolved.settings.parallelism) return;
  add_input_copy(resolved.classes.front().trace, input_copy_time(resolved, 1),
                 input_copy_time(resolved, cluster.gpus_on_node.front()));
}

}  // namespace trainyard
