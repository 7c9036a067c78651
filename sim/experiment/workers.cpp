#include "experiment/workers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

int ranks_per_worker(const ResolvedExperiment& resolved) {
  if (has_servers(resolved.settings.sync) && resolved.layout) {
    const RankLayout& layout = *resolved.layout;
    const int dividing = layout.parallelism.layers.empty() ? 1 : layout.grid.layer;
    return static_cast<int>(ranks_of_replica(layout.parallelism)) * dividing;
  }
  if (!has_servers(resolved.settings.sync) || resolved.stack.servers.node_reduce == NodeReduce::none)
    return 1;
  const Cluster& cluster = *resolved.cluster;
  const int first = cluster.gpus_on_node.front();
  if (std::ranges::any_of(cluster.gpus_on_node, [&](int gpus) { return gpus != first; })) {
    throw InputError(fmt::format("{} sums the gradients of whole nodes, but not all nodes have {} GPUs",
                                 resolved.stack.name, first),
                     "set gpus to a multiple of this, or set gpus_per_node");
  }
  return first;
}

int workers_of(const ResolvedExperiment& resolved) {
  return resolved.cluster->ranks() / ranks_per_worker(resolved);
}

int waited_for(const ResolvedExperiment& resolved) {
  const Sync& sync = resolved.settings.sync;
  const UpdateRuleTraits& rule = traits(sync.update);
  if (rule.waits_for_all()) return workers_of(resolved) - sync.backups.value_or(0);
  return rule.counts_workers() && rule.cancels() ? sync.k.value_or(1) : 0;
}

}  // namespace trainyard
