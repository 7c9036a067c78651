#include "run/update_setup.hpp"

#include "experiment/workers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

TrainingOptions training_options(const UpdateSettings& settings, const StepCounts& steps) {
  const int per_update = gradients_per_update(settings);
  const auto updates = [&](int count) -> std::int64_t {
    if (traits(settings.rule).is_synchronous()) return count;
    return (static_cast<std::int64_t>(count) * settings.workers + per_update - 1) / per_update;
  };
  return {.warmup = updates(steps.warmup), .measured = updates(steps.measured)};
}

double expected_events(const ResolvedExperiment& resolved, const UpdateSettings& settings, std::size_t ops,
                       const ServerPlan* plan) {
  const StepCounts& steps = resolved.settings.steps;
  const double of_step = 1 + (resolved.settings.random.op ? static_cast<double>(ops) : 0) +
                         (plan ? 2.0 * static_cast<double>(plan->messages.size()) / settings.push_every : 0);
  return of_step * settings.workers * (steps.warmup + steps.measured) * steps.repeats;
}

std::vector<Seconds> worker_ops(const Step& steady) {
  std::vector<Seconds> ops;
  for (const OpRow& op : slowest_class(steady).ops) ops.push_back(op.duration);
  return ops;
}

std::vector<StepTimes> step_times(const ResolvedExperiment& resolved, const Cluster& cluster, int ranks,
                                  const std::vector<Seconds>& ops, int repeats) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(index(cluster.node_of(Rank{rank})));
  Randomness random = with_variation(resolved.settings.random, resolved.gpu.variation);
  if (ranks == 1 && !has_servers(resolved.settings.sync)) random.communication.reset();  // nothing is sent
  std::vector<StepTimes> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    times.emplace_back(ops, nodes, random, repeat);
    times.back().join(ranks_per_worker(resolved));
  }
  return times;
}

HostLoad host_load(const ServerPlan& plan, int worker_nodes, int cpus, int steps_per_push) {
  std::vector<double> bytes(plan.links.size());
  for (const WorkerWays& worker : plan.workers) {
    for (std::size_t message = 0; message < plan.messages.size(); ++message) {
      const Bytes part = plan.messages[message].bytes;
      const std::size_t way = at(plan.way_of_message[message]);
      for (const ServerWay* route : {&worker.push[way], &worker.pull[way]}) {
        if (route == &worker.push[way] && !plan.messages[message].is_pushed) continue;
        for (const int link : route->links) bytes[at(link)] += part.si();
      }
    }
  }
  std::vector<HostLoad> loads(at(worker_nodes));
  for (const ServerPlan::Resource& resource : plan.resources) {
    if (index(resource.node) >= worker_nodes) continue;
    HostLoad& load = loads[at(index(resource.node))];
    const Seconds busy = Bytes{bytes[at(resource.link)]} / plan.links[at(resource.link)];
    (resource.is_memory ? load.memory : load.cores) += busy / (static_cast<double>(cpus) * steps_per_push);
  }
  HostLoad most;
  for (const HostLoad& load : loads) {
    most.cores = std::max(most.cores, load.cores);
    most.memory = std::max(most.memory, load.memory);
  }
  return most;
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
