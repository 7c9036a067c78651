#include "run/faulty_parts.hpp"

#include "experiment/workers.hpp"
#include "run/update_setup.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

/// Shards are assigned to nodes in turn.
bool host_holds_parameters(const Sync& sync, int node) {
  return has_servers(sync) && placement_of(sync) == ServerPlacement::hosts && node < shards_of(sync);
}

/// Shards on GPUs are assigned to ranks in turn.
bool rank_holds_parameters(const Sync& sync, int rank) {
  if (!has_servers(sync)) return false;
  if (placement_of(sync) == ServerPlacement::gpu) return rank == 0;
  return placement_of(sync) == ServerPlacement::gpus && rank < shards_of(sync);
}

/// A worker may be a whole node, which cannot work without one of its GPUs.
FaultyPart part_of(const Sync& sync, int first_rank, int ranks, int ranks_per_worker) {
  FaultyPart part;
  part.first_worker = first_rank / ranks_per_worker;
  part.workers = (first_rank + ranks - 1) / ranks_per_worker - part.first_worker + 1;
  part.holds_parameters = rank_holds_parameters(sync, first_rank);
  return part;
}

std::vector<FaultyPart> ranks_of(const Cluster& cluster, const Sync& sync, int ranks_per_worker) {
  std::vector<FaultyPart> parts;
  for (int rank = 0; rank < cluster.ranks(); ++rank)
    parts.push_back(part_of(sync, rank, 1, ranks_per_worker));
  return parts;
}

std::vector<FaultyPart> nodes_of(const Cluster& cluster, const Sync& sync, int ranks_per_worker) {
  std::vector<FaultyPart> parts;
  for (int node = 0; node < cluster.nodes; ++node) {
    parts.push_back(
        part_of(sync, cluster.first_rank[at(node)], cluster.gpus_on_node[at(node)], ranks_per_worker));
    parts.back().holds_parameters |= host_holds_parameters(sync, node);
  }
  if (has_servers(sync) && placement_of(sync) == ServerPlacement::own_nodes)
    parts.insert(parts.end(), at(shards_of(sync)), {0, 0, true});
  return parts;
}

/// A job on one node sends nothing through the fabric.
std::vector<FaultyPart> links_of(const Cluster& cluster, const Sync& sync, int ranks_per_worker) {
  std::vector<FaultyPart> parts;
  const std::vector<FaultyPart> nodes = nodes_of(cluster, sync, ranks_per_worker);
  if (nodes.size() < 2) return parts;
  for (const FaultyPart& node : nodes) parts.insert(parts.end(), cluster.platform.nics.size(), node);
  return parts;
}

}  // namespace

std::vector<FaultyPart> faulty_parts(const ResolvedExperiment& resolved, FaultyThing of) {
  const Cluster& cluster = *resolved.cluster;
  const Sync& sync = resolved.settings.sync;
  const int per_worker = ranks_per_worker(resolved);
  std::vector<FaultyPart> parts;
  switch (of) {
    case FaultyThing::rank:
      parts = ranks_of(cluster, sync, per_worker);
      break;
    case FaultyThing::node:
      parts = nodes_of(cluster, sync, per_worker);
      break;
    case FaultyThing::link:
      parts = links_of(cluster, sync, per_worker);
      break;
    case FaultyThing::server:
      if (has_servers(sync)) parts.assign(at(shards_of(sync)), {0, 0, true});
      break;
  }
  if (parts.empty()) {
    throw InputError(fmt::format("faults of kind '{}': the job has no such part", config::name_of(of)),
                     of == FaultyThing::server ? "kind: parameter_server" : "more nodes, or another kind");
  }
  return parts;
}

}  // namespace trainyard
