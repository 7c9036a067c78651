#include "config/error_at.hpp"
#include "platform/cluster.hpp"
#include "platform/fabric_definition.hpp"
#include "platform/plausible_limits.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// The error of these counts, at the key of the wrong one; empty if they are right.
std::optional<Diagnostic> refusal(const Platform& platform, int nodes, int gpus, int gpus_per_node) {
  const std::string& name = platform.name;
  const std::string wanted = plural(nodes, "node");
  const int in_node = static_cast<int>(platform.gpus.size());
  if (nodes < 1) return diagnostic_at("nodes", wanted + " requested", "nodes: 1 or more");
  if (gpus < 0) return diagnostic_at("gpus", plural(gpus, "GPU") + " requested", "gpus: 1 or more");
  if (gpus_per_node < 0) {
    return diagnostic_at("gpus_per_node", plural(gpus_per_node, "GPU") + " per node requested",
                         "gpus_per_node: 1 or more");
  }
  if (nodes > 1 && !platform.fabric.exists()) {
    return diagnostic_at("nodes",
                         fmt::format("{} requested, but {} has no fabric to join them", wanted, name),
                         "nodes: 1, or give the platform a fabric");
  }
  if (nodes > 1 && platform.nics.empty()) {
    return diagnostic_at("nodes", fmt::format("{} requested, but {} has no NIC to join them", wanted, name),
                         "nodes: 1, or give the platform's node a nic");
  }
  if (const auto there = platform.fabric.places; nodes > 1 && there && nodes > *there) {
    return diagnostic_at(
        "nodes", fmt::format("{} requested, but the fabric of {} has room for {}", wanted, name, *there),
        fmt::format("nodes: {} at most, or a larger fabric", *there));
  }
  if (gpus_per_node > in_node) {
    return diagnostic_at(
        "gpus_per_node",
        fmt::format("{} GPUs per node requested, but {} has {} per node", gpus_per_node, name, in_node),
        fmt::format("gpus_per_node: {} at most", in_node));
  }
  const int usable = gpus_per_node == 0 ? in_node : gpus_per_node;
  // long long: a count from the command line times a count from a file may exceed 2^31
  if (static_cast<long long>(nodes) * usable > config::most_nodes) {
    return diagnostic_at("nodes", fmt::format("{} of {} requested", wanted, plural(usable, "GPU")),
                         fmt::format("at most {} GPUs can be simulated", config::most_nodes));
  }
  if (gpus > nodes * usable) {
    return diagnostic_at(
        "gpus",
        fmt::format("{} requested, but {} of {} {} {}{}", plural(gpus, "GPU"), wanted, name,
                    nodes == 1 ? "has" : "have", nodes * usable,
                    usable < in_node ? fmt::format(" with gpus_per_node: {}", usable) : ""),
        fmt::format("gpus: {} at most, or nodes: {}", nodes * usable, (gpus + usable - 1) / usable));
  }
  return std::nullopt;
}

}  // namespace

Cluster make_cluster(Platform platform, int nodes, int gpus, int gpus_per_node) {
  if (const auto wrong = refusal(platform, nodes, gpus, gpus_per_node)) throw InputError({*wrong});
  const int usable = gpus_per_node == 0 ? static_cast<int>(platform.gpus.size()) : gpus_per_node;
  const int total = gpus == 0 ? nodes * usable : gpus;

  std::vector<int> gpus_on_node;
  for (int first = 0; first < total; first += usable) gpus_on_node.push_back(std::min(usable, total - first));
  return make_cluster(std::move(platform), std::move(gpus_on_node));
}

int used_nodes(const Platform& platform, int nodes, int gpus, int gpus_per_node) {
  const int usable = gpus_per_node == 0 ? static_cast<int>(platform.gpus.size()) : gpus_per_node;
  return gpus == 0 ? nodes : (gpus + usable - 1) / usable;
}

void require_ranks_on_all_nodes(const Platform& platform, int nodes, int gpus, int gpus_per_node) {
  if (refusal(platform, nodes, gpus, gpus_per_node)) return;  // make_cluster() names the error
  const int used = used_nodes(platform, nodes, gpus, gpus_per_node);
  if (used >= nodes) return;
  const std::string spread =
      gpus % nodes == 0 ? fmt::format(", or gpus_per_node: {}", gpus / nodes) : std::string();
  throw error_at("nodes",
                 fmt::format("{} of {} requested, but {} {} {}", plural(nodes, "node"), platform.name,
                             plural(gpus, "GPU"), gpus == 1 ? "fills" : "fill", used),
                 fmt::format("nodes: {}, or no gpus to use all of every node{}", used, spread));
}

Cluster make_cluster(Platform platform, std::vector<int> gpus_on_node) {
  const auto nodes = static_cast<int>(gpus_on_node.size());
  if (auto wrong = refusal(platform, nodes, 0, std::ranges::max(gpus_on_node))) {
    wrong->key_path.clear();  // no key holds this list
    throw InputError({*wrong});
  }

  Cluster cluster;
  cluster.inside = node_routes(platform);
  cluster.platform = std::move(platform);
  cluster.nodes = nodes;
  cluster.first_rank.push_back(0);
  for (const int gpus : gpus_on_node) cluster.first_rank.push_back(cluster.first_rank.back() + gpus);
  const auto other =
      std::ranges::find_if(gpus_on_node, [&](int gpus) { return gpus != gpus_on_node.front(); });
  cluster.like_first = static_cast<int>(std::distance(gpus_on_node.begin(), other));
  cluster.gpus_on_node = std::move(gpus_on_node);
  const Fabric& fabric = cluster.platform.fabric;
  cluster.network =
      definition(fabric.kind).network(fabric, cluster.nodes, static_cast<int>(cluster.platform.nics.size()));
  return cluster;
}

}  // namespace trainyard
