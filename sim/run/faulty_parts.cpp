#include "run/faulty_parts.hpp"

#include "experiment/workers.hpp"
#include "run/update_setup.hpp"

#include <fmt/format.h>
#include <set>

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

/// The replicas with a rank among these, which follow each other, after the last one the first.
void set_replicas(const Grid& grid, int first_rank, int ranks, FaultyPart& part) {
  part.first_worker = coordinates(grid, Rank{first_rank}).data;
  std::set<int> replicas;
  for (int rank = first_rank; rank < first_rank + ranks; ++rank)
    replicas.insert(coordinates(grid, Rank{rank}).data);
  part.workers = static_cast<int>(replicas.size());
}

/// A worker may be a whole node, which cannot work without one of its GPUs, or a replica that elastic jobs
/// can do without.
FaultyPart part_of(const ResolvedExperiment& resolved, int first_rank, int ranks) {
  FaultyPart part;
  part.node = index(resolved.cluster->node_of(Rank{first_rank}));
  if (resolved.layout && !has_servers(resolved.settings.sync)) {
    set_replicas(resolved.layout->grid, first_rank, ranks, part);
    return part;
  }
  const int per_worker = ranks_per_worker(resolved);
  part.first_worker = first_rank / per_worker;
  part.workers = (first_rank + ranks - 1) / per_worker - part.first_worker + 1;
  part.holds_parameters = rank_holds_parameters(resolved.settings.sync, first_rank);
  return part;
}

/// Nothing that could be replaced or done without.
FaultyPart all_workers() {
  FaultyPart part;
  part.holds_parameters = true;
  return part;
}

std::vector<FaultyPart> ranks_of(const ResolvedExperiment& resolved) {
  std::vector<FaultyPart> parts;
  for (int rank = 0; rank < resolved.cluster->ranks(); ++rank) parts.push_back(part_of(resolved, rank, 1));
  return parts;
}

/// With the whole node a rank or a link is lost, too, if nodes are repaired.
std::vector<FaultyPart> nodes_of(const ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  const Sync& sync = resolved.settings.sync;
  std::vector<FaultyPart> parts;
  for (int node = 0; node < cluster.nodes; ++node) {
    parts.push_back(part_of(resolved, cluster.first_rank[at(node)], cluster.gpus_on_node[at(node)]));
    parts.back().holds_parameters |= host_holds_parameters(sync, node);
  }
  if (has_servers(sync) && placement_of(sync) == ServerPlacement::own_nodes)
    parts.insert(parts.end(), at(shards_of(sync)), all_workers());
  return parts;
}

/// A job on one node sends nothing through the fabric.
std::vector<FaultyPart> links_of(const ResolvedExperiment& resolved) {
  std::vector<FaultyPart> parts;
  const std::vector<FaultyPart> nodes = nodes_of(resolved);
  if (nodes.size() < 2) return parts;
  for (const FaultyPart& node : nodes)
    parts.insert(parts.end(), resolved.cluster->platform.nics.size(), node);
  return parts;
}

std::vector<FaultyPart> parts_of(const ResolvedExperiment& resolved, FaultyThing of) {
  const bool has_shards = has_servers(resolved.settings.sync);
  switch (of) {
    case FaultyThing::rank:
      // Of elastic jobs and those that wait for repairs the whole node is away.
      if (resolved.settings.faults->repair) {
        const std::vector<FaultyPart> nodes = nodes_of(resolved);
        std::vector<FaultyPart> parts;
        for (int rank = 0; rank < resolved.cluster->ranks(); ++rank)
          parts.push_back(nodes[at(index(resolved.cluster->node_of(Rank{rank})))]);
        return parts;
      }
      return ranks_of(resolved);
    case FaultyThing::node:
      return nodes_of(resolved);
    case FaultyThing::link:
      return links_of(resolved);
    case FaultyThing::server:
      return has_shards ? std::vector<FaultyPart>(at(shards_of(resolved.settings.sync)), all_workers())
                        : std::vector<FaultyPart>{};
    case FaultyThing::job:
      return {all_workers()};
  }
  return {};
}

}  // namespace

std::vector<FaultyPart> faulty_parts(const ResolvedExperiment& resolved, FaultyThing of, bool is_planned) {
  std::vector<FaultyPart> parts = parts_of(resolved, of);
  for (FaultyPart& part : parts) part.is_planned = is_planned;
  if (parts.empty()) {
    throw InputError(fmt::format("faults of kind '{}': the job has no such part", config::name_of(of)),
                     of == FaultyThing::server ? "kind: parameter_server" : "more nodes, or another kind");
  }
  return parts;
}

}  // namespace trainyard
