#include "study/training_runs.hpp"

namespace trainyard {

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

std::vector<StepTimes> step_times(const Inputs& inputs, const Cluster& cluster, int workers,
                                  const std::vector<Seconds>& ops, int repeats) {
  std::vector<int> nodes;
  for (int rank = 0; rank < workers; ++rank) nodes.push_back(index(cluster.node_of(Rank{rank})));
  std::vector<StepTimes> times;
  for (int repeat = 0; repeat < repeats; ++repeat)
    times.emplace_back(ops, nodes, inputs.experiment.random, repeat);
  return times;
}

}  // namespace trainyard
