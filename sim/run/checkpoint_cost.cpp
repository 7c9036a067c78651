#include "run/checkpoint_cost.hpp"

#include "config/error_at.hpp"
#include "experiment/input_copy.hpp"
#include "experiment/job_needs.hpp"

#include <algorithm>

namespace trainyard {

namespace {

Bytes size_of(const ResolvedExperiment& resolved) {
  const Checkpoint& checkpoint = *resolved.settings.faults->checkpoint;
  if (checkpoint.size) return *checkpoint.size;
  const Bytes state = training_state(resolved);
  if (state <= Bytes{}) {
    throw InputError("the size of a checkpoint is unknown: the trace names no parameters",
                     "faults.checkpoint.size: 10 GB");
  }
  return state;
}

/// The rate at which the storage takes all parts.
Bandwidth storage_of(const ResolvedExperiment& resolved) {
  const Checkpoint& checkpoint = *resolved.settings.faults->checkpoint;
  if (checkpoint.bandwidth) return *checkpoint.bandwidth;
  if (resolved.platform.shared_storage) return resolved.platform.shared_storage->value;
  throw error_at("faults.checkpoint", "the machine's file names no shared storage",
                 "add 'bandwidth: 1 GB/s'");
}

/// Ranks that hold different parts of the state.
int holders(const ResolvedExperiment& resolved) {
  if (!resolved.layout) return 1;
  const RankLayout& layout = *resolved.layout;
  long long parts = ranks_of_replica(layout.parallelism) * layout.parallelism.expert;
  if (const auto found = layout.state_shards.find(Axis::data); found != layout.state_shards.end())
    parts = std::max(parts, ranks_of_replica(layout.parallelism) * found->second);
  return static_cast<int>(std::min<long long>(parts, resolved.cluster->ranks()));
}

}  // namespace

CheckpointCost checkpoint_cost(const ResolvedExperiment& resolved) {
  const Checkpoint& checkpoint = *resolved.settings.faults->checkpoint;
  const Cluster& cluster = *resolved.cluster;
  CheckpointCost cost;
  cost.size = size_of(resolved);
  cost.write = cost.size / storage_of(resolved);
  const int parts = holders(resolved);
  const int on_node = std::min(parts, *std::ranges::max_element(cluster.gpus_on_node));
  const double nodes = std::max(1, std::min(cluster.nodes, parts / on_node));
  if (checkpoint.node_bandwidth)
    cost.write = std::max(cost.write, cost.size / (nodes * *checkpoint.node_bandwidth));
  cost.copy = host_copy_time(cluster, cost.size / parts, on_node);
  cost.stall = cost.write;
  if (checkpoint.asynchronous) {
    cost.stall = cost.copy;
    cost.write += cost.copy;
  }
  if (!checkpoint.in_memory) return cost;
  const double cards = std::max<double>(1, static_cast<double>(cluster.platform.nics.size()));
  const Bandwidth network = cards * cluster.platform.fabric.effective.value;
  cost.transfer = cost.copy + checkpoint.in_memory->copies * (cost.size / nodes) / network;
  return cost;
}

}  // namespace trainyard
