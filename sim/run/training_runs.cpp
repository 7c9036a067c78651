#include "run/training_runs.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

int ranks_per_worker(const Inputs& inputs) {
  if (!has_servers(inputs.experiment.sync) || inputs.stack.servers.node_reduce == NodeReduce::none) return 1;
  const Cluster cluster = cluster_of(inputs);
  const int first = cluster.gpus_on_node.front();
  if (std::ranges::any_of(cluster.gpus_on_node, [&](int gpus) { return gpus != first; })) {
    throw InputError(fmt::format("{} adds up the gradients of whole nodes, and not all have {} GPUs",
                                 inputs.stack.name, first),
                     "a multiple of that as gpus, or gpus_per_node");
  }
  return first;
}

int workers_of(const Inputs& inputs) { return cluster_of(inputs).ranks() / ranks_per_worker(inputs); }

TrainingOptions training_options(const UpdateSettings& settings, const StepCounts& steps) {
  const int per_update = gradients_per_update(settings);
  const auto updates = [&](int count) -> std::int64_t {
    if (is_synchronous(settings.rule)) return count;
    return (static_cast<std::int64_t>(count) * settings.workers + per_update - 1) / per_update;
  };
  return {.warmup = updates(steps.warmup), .measured = updates(steps.measured)};
}

std::vector<Seconds> worker_ops(const Result& steady) {
  std::vector<Seconds> ops;
  for (const LayerRow& layer : steady.layers) ops.push_back(layer.duration);
  return ops;
}

std::vector<StepTimes> step_times(const Inputs& inputs, const Cluster& cluster, int ranks,
                                  const std::vector<Seconds>& ops, int repeats) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(index(cluster.node_of(Rank{rank})));
  const Randomness random = with_variation(inputs.experiment.random, inputs.gpu.variation);
  std::vector<StepTimes> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    times.emplace_back(ops, nodes, random, repeat);
    times.back().join(ranks_per_worker(inputs));
  }
  return times;
}

LoadingTimes loading_times(const Inputs& inputs, const Cluster& cluster, int workers, const HostLoad& load) {
  LoadingTimes times;
  if (inputs.experiment.input.data == InputData::synthetic) return times;
  times.is_prefetched = is_prefetched(inputs.experiment.input);
  const int per_worker = ranks_per_worker(inputs);
  const int nodes = cluster_of(inputs).nodes;
  for (int worker = 0; worker < workers; ++worker) {
    const int node = index(cluster.node_of(Rank{worker * per_worker}));
    times.per_step.push_back(
        input_pipeline(inputs, cluster.gpus_on_node[at(node)], nodes, load).value().time);
  }
  return times;
}

}  // namespace trainyard
