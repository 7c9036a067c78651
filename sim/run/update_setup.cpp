#include "run/update_setup.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

int ranks_per_worker(const ResolvedExperiment& resolved) {
  if (!has_servers(resolved.settings.sync) || resolved.stack.servers.node_reduce == NodeReduce::none)
    return 1;
  const Cluster& cluster = *resolved.cluster;
  const int first = cluster.gpus_on_node.front();
  if (std::ranges::any_of(cluster.gpus_on_node, [&](int gpus) { return gpus != first; })) {
    throw InputError(fmt::format("{} adds up the gradients of whole nodes, and not all have {} GPUs",
                                 resolved.stack.name, first),
                     "a multiple of that as gpus, or gpus_per_node");
  }
  return first;
}

int workers_of(const ResolvedExperiment& resolved) {
  return resolved.cluster->ranks() / ranks_per_worker(resolved);
}

TrainingOptions training_options(const UpdateSettings& settings, const StepCounts& steps) {
  const int per_update = gradients_per_update(settings);
  const auto updates = [&](int count) -> std::int64_t {
    if (is_synchronous(settings.rule)) return count;
    return (static_cast<std::int64_t>(count) * settings.workers + per_update - 1) / per_update;
  };
  return {.warmup = updates(steps.warmup), .measured = updates(steps.measured)};
}

std::vector<Seconds> worker_ops(const Step& steady) {
  std::vector<Seconds> ops;
  for (const OpRow& op : steady.ops) ops.push_back(op.duration);
  return ops;
}

std::vector<StepTimes> step_times(const ResolvedExperiment& resolved, const Cluster& cluster, int ranks,
                                  const std::vector<Seconds>& ops, int repeats) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(index(cluster.node_of(Rank{rank})));
  const Randomness random = with_variation(resolved.settings.random, resolved.gpu.variation);
  std::vector<StepTimes> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    times.emplace_back(ops, nodes, random, repeat);
    times.back().join(ranks_per_worker(resolved));
  }
  return times;
}

LoadingTimes loading_times(const ResolvedExperiment& resolved, const Cluster& cluster, int workers,
                           const HostLoad& load) {
  LoadingTimes times;
  if (resolved.settings.input.data == InputData::synthetic) return times;
  times.is_prefetched = is_prefetched(resolved.settings.input);
  const int per_worker = ranks_per_worker(resolved);
  const int nodes = resolved.cluster->nodes;
  for (int worker = 0; worker < workers; ++worker) {
    const int node = index(cluster.node_of(Rank{worker * per_worker}));
    times.per_step.push_back(
        data_loading(resolved, cluster.gpus_on_node[at(node)], nodes, load).value().time);
  }
  return times;
}

}  // namespace trainyard
