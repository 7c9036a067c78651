#include "study/faulty_parts.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

bool has_servers(const Sync& sync) { return sync.kind == SyncKind::parameter_server; }

ServerPlacement placement_of(const Sync& sync) { return sync.placement.value_or(ServerPlacement::hosts); }

int shards_of(const Sync& sync) { return sync.shards.value_or(1); }

/// Shards are dealt out one node after the other.
bool holds_parameters(const Sync& sync, int node) {
  if (!has_servers(sync)) return false;
  switch (placement_of(sync)) {
    case ServerPlacement::hosts:
      return node < shards_of(sync);
    case ServerPlacement::gpu:
      return node == 0;
    case ServerPlacement::own_nodes:
    case ServerPlacement::free:
      break;
  }
  return false;
}

std::vector<FaultyPart> ranks_of(const Cluster& cluster, const Sync& sync) {
  std::vector<FaultyPart> parts;
  const bool is_on_gpu = has_servers(sync) && placement_of(sync) == ServerPlacement::gpu;
  for (int rank = 0; rank < cluster.ranks(); ++rank) parts.push_back({rank, 1, is_on_gpu && rank == 0});
  return parts;
}

std::vector<FaultyPart> nodes_of(const Cluster& cluster, const Sync& sync) {
  std::vector<FaultyPart> parts;
  for (int node = 0; node < cluster.nodes; ++node)
    parts.push_back(
        {cluster.first_rank[at(node)], cluster.gpus_on_node[at(node)], holds_parameters(sync, node)});
  if (has_servers(sync) && placement_of(sync) == ServerPlacement::own_nodes)
    parts.insert(parts.end(), at(shards_of(sync)), {0, 0, true});
  return parts;
}

/// A job on one node sends nothing through the fabric.
std::vector<FaultyPart> links_of(const Cluster& cluster, const Sync& sync) {
  std::vector<FaultyPart> parts;
  const std::vector<FaultyPart> nodes = nodes_of(cluster, sync);
  if (nodes.size() < 2) return parts;
  for (const FaultyPart& node : nodes) parts.insert(parts.end(), cluster.platform.nics.size(), node);
  return parts;
}

}  // namespace

std::vector<FaultyPart> faulty_parts(const Inputs& inputs, FaultyThing of) {
  const Cluster cluster = cluster_of(inputs);
  const Sync& sync = inputs.experiment.sync;
  std::vector<FaultyPart> parts;
  switch (of) {
    case FaultyThing::worker:
      parts = ranks_of(cluster, sync);
      break;
    case FaultyThing::node:
      parts = nodes_of(cluster, sync);
      break;
    case FaultyThing::link:
      parts = links_of(cluster, sync);
      break;
    case FaultyThing::server:
      if (has_servers(sync)) parts.assign(at(shards_of(sync)), {0, 0, true});
      break;
  }
  if (parts.empty()) {
    throw InputError(fmt::format("faults of a {}: the job has none", config::name_of(of)),
                     of == FaultyThing::server ? "kind: parameter_server" : "more nodes, or another kind");
  }
  return parts;
}

}  // namespace trainyard
