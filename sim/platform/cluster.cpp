#include "platform/cluster.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <iterator>

namespace trainyard {
namespace {

std::string plural(int count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

void check_counts(const Platform& platform, int nodes, int gpus, int gpus_per_node) {
  const int in_node = static_cast<int>(platform.gpus.size());
  if (nodes < 1) throw InputError(plural(nodes, "node") + " asked for", "nodes: 1 or more");
  if (gpus < 0) throw InputError(plural(gpus, "GPU") + " asked for", "gpus: 1 or more");
  if (gpus_per_node < 0) {
    throw InputError(plural(gpus_per_node, "GPU") + " per node asked for", "gpus_per_node: 1 or more");
  }
  if (nodes > 1 && platform.fabric.kind == FabricKind::none) {
    throw InputError(plural(nodes, "node") + " asked for, " + platform.name + " has no fabric to join them",
                     "nodes: 1, or give the platform a fabric");
  }
  if (nodes > 1 && platform.nics.empty()) {
    throw InputError(plural(nodes, "node") + " asked for, " + platform.name + " has no NIC to join them",
                     "nodes: 1, or give the platform's node a nic");
  }
  if (gpus_per_node > in_node) {
    throw InputError(std::to_string(gpus_per_node) + " GPUs per node asked for, " + platform.name + " has " +
                         std::to_string(in_node) + " per node",
                     "gpus_per_node: " + std::to_string(in_node) + " at most");
  }
  const int usable = gpus_per_node == 0 ? in_node : gpus_per_node;
  // long long: a count from a command line times a count from a file may pass 2^31
  if (static_cast<long long>(nodes) * usable > 1 << 20) {
    throw InputError(plural(nodes, "node") + " of " + plural(usable, "GPU") + " asked for",
                     "at most " + std::to_string(1 << 20) + " GPUs can be simulated");
  }
  if (gpus > nodes * usable) {
    const int needed = (gpus + usable - 1) / usable;
    throw InputError(
        plural(gpus, "GPU") + " asked for, " + platform.name + " has " + std::to_string(in_node) +
            " per node and " + plural(nodes, "node") +
            (usable < in_node ? " using " + std::to_string(usable) + " each" : ""),
        "gpus: " + std::to_string(nodes * usable) + " at most, or nodes: " + std::to_string(needed));
  }
}

/// The leaf switch of a node.
int leaf_of(const Cluster& cluster, int node) { return node / cluster.platform.fabric.nodes_per_leaf.value; }

int leaf_count(const Cluster& cluster) { return leaf_of(cluster, cluster.nodes - 1) + 1; }

/// Uplinks exist where they can bind: more than one leaf, and less bandwidth upwards than downwards.
bool has_uplinks(const Cluster& cluster) {
  return cluster.platform.fabric.kind == FabricKind::fat_tree &&
         cluster.platform.fabric.oversubscription.value > 1 && leaf_count(cluster) > 1;
}

std::uint32_t links_inside(const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.inside.capacity.size());
}

std::uint32_t links_per_node(const Cluster& cluster) {
  return links_inside(cluster) + 2 * static_cast<std::uint32_t>(cluster.platform.nics.size());
}

std::uint32_t first_uplink(const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.nodes) * links_per_node(cluster);
}

/// One of the places a link number can mean.
struct Place {
  enum class Kind { inside, nic_out, nic_in, leaf_up, leaf_down } kind;
  std::uint32_t owner;   ///< node or leaf
  std::uint32_t number;  ///< of the link inside the node, or of the NIC
};

Place place_of(const Cluster& cluster, LinkId link) {
  const std::uint32_t uplinks = first_uplink(cluster);
  if (index(link) >= uplinks) {
    const std::uint32_t number = index(link) - uplinks;
    return {number % 2 == 0 ? Place::Kind::leaf_up : Place::Kind::leaf_down, number / 2, 0};
  }
  const std::uint32_t node = index(link) / links_per_node(cluster);
  const std::uint32_t number = index(link) % links_per_node(cluster);
  if (number < links_inside(cluster)) return {Place::Kind::inside, node, number};
  const std::uint32_t port = number - links_inside(cluster);
  return {port % 2 == 0 ? Place::Kind::nic_out : Place::Kind::nic_in, node, port / 2};
}

EdgeId edge_of(const Cluster& cluster, const Place& place) {
  return *std::next(edges(cluster.platform.node).first, place.number / 2);
}

Bandwidth rate(const Cluster& cluster, LinkId link, const std::vector<Bandwidth>& inside, Bandwidth nic) {
  const Place place = place_of(cluster, link);
  switch (place.kind) {
    case Place::Kind::inside:
      return inside[place.number];
    case Place::Kind::nic_out:
    case Place::Kind::nic_in:
      return nic;
    case Place::Kind::leaf_up:
    case Place::Kind::leaf_down:
      break;
  }
  const Fabric& fabric = cluster.platform.fabric;
  const double nics = static_cast<double>(cluster.platform.nics.size()) * fabric.nodes_per_leaf.value;
  return nic * (nics / fabric.oversubscription.value);
}

LinkId nic_link(const Cluster& cluster, int node, int nic, bool inwards) {
  return LinkId{static_cast<std::uint32_t>(node) * links_per_node(cluster) + links_inside(cluster) +
                2 * static_cast<std::uint32_t>(nic) + (inwards ? 1U : 0U)};
}

void append_inside(const Cluster& cluster, int node, const NodePath& path, std::vector<LinkId>& links) {
  const std::uint32_t base = static_cast<std::uint32_t>(node) * links_per_node(cluster);
  for (const std::uint32_t link : path.links) links.push_back(LinkId{base + link});
}

[[noreturn]] void throw_unreachable(const Cluster& cluster, Rank from, Rank to) {
  const auto name = [&](Rank rank) {
    return "node" + std::to_string(index(cluster.node_of(rank))) + "." +
           cluster.platform.node[cluster.gpu_of(rank)].name;
  };
  throw Unreachable(name(from) + " cannot reach " + name(to) + " on " + cluster.platform.name +
                    ": no links lead from one to the other");
}

}  // namespace

NodeId Cluster::node_of(Rank rank) const {
  const auto after = std::ranges::upper_bound(first_rank, index(rank));
  return NodeId{static_cast<int>(std::distance(first_rank.begin(), after)) - 1};
}

DeviceId Cluster::gpu_of(Rank rank) const {
  const int first = first_rank[static_cast<std::size_t>(index(node_of(rank)))];
  return platform.gpus[static_cast<std::size_t>(index(rank) - first)];
}

Cluster make_cluster(Platform platform, int nodes, int gpus, int gpus_per_node) {
  check_counts(platform, nodes, gpus, gpus_per_node);
  const int usable = gpus_per_node == 0 ? static_cast<int>(platform.gpus.size()) : gpus_per_node;
  const int total = gpus == 0 ? nodes * usable : gpus;

  Cluster cluster;
  cluster.inside = node_routes(platform);
  cluster.platform = std::move(platform);
  for (int first = 0; first < total; first += usable) {
    cluster.first_rank.push_back(first);
    cluster.gpus_on_node.push_back(std::min(usable, total - first));
  }
  cluster.first_rank.push_back(total);
  cluster.nodes = static_cast<int>(cluster.gpus_on_node.size());
  return cluster;
}

std::uint32_t link_count(const Cluster& cluster) {
  const int uplinks = has_uplinks(cluster) ? 2 * leaf_count(cluster) : 0;
  return first_uplink(cluster) + static_cast<std::uint32_t>(uplinks);
}

Bandwidth capacity(const Cluster& cluster, LinkId link) {
  return rate(cluster, link, cluster.inside.capacity, cluster.platform.fabric.effective.value);
}

int lanes(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  return place.kind == Place::Kind::inside ? cluster.platform.node[edge_of(cluster, place)].lanes : 1;
}

Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link) {
  return rate(cluster, link, cluster.inside.specified, cluster.platform.fabric.nic.value);
}

std::string link_name(const Cluster& cluster, LinkId link) {
  const NodeGraph& graph = cluster.platform.node;
  const Place place = place_of(cluster, link);
  const std::string node = "node" + std::to_string(place.owner) + ".";
  const std::string leaf = "leaf" + std::to_string(place.owner);
  switch (place.kind) {
    case Place::Kind::nic_out:
      return node + graph[cluster.platform.nics[place.number]].name + "->fabric";
    case Place::Kind::nic_in:
      return "fabric->" + node + graph[cluster.platform.nics[place.number]].name;
    case Place::Kind::leaf_up:
      return leaf + "->core";
    case Place::Kind::leaf_down:
      return "core->" + leaf;
    case Place::Kind::inside:
      break;
  }
  const EdgeId edge = edge_of(cluster, place);
  const std::string& one = graph[source(edge, graph)].name;
  const std::string& other = graph[target(edge, graph)].name;
  return node + (place.number % 2 == 0 ? one + "->" + other : other + "->" + one);
}

bool is_fabric(const Cluster& cluster, LinkId link) {
  return place_of(cluster, link).kind != Place::Kind::inside;
}

RouteSummary append_route(const Cluster& cluster, Rank from, Rank to, int nic, std::vector<LinkId>& links) {
  const int source_node = index(cluster.node_of(from));
  const int target_node = index(cluster.node_of(to));
  const auto local = [&](Rank rank, int node) {
    return static_cast<std::size_t>(index(rank) - cluster.first_rank[static_cast<std::size_t>(node)]);
  };
  const std::size_t source_gpu = local(from, source_node);
  const std::size_t target_gpu = local(to, target_node);
  if (source_node == target_node) {
    const NodePath& path = cluster.inside.gpu_to_gpu[source_gpu][target_gpu];
    if (!path.reachable) throw_unreachable(cluster, from, to);
    append_inside(cluster, source_node, path, links);
    return {path.latency, false, path.crosses_pcie};
  }

  const int nic_out = nic >= 0 ? nic : cluster.inside.nearest_nic[source_gpu];
  const int nic_in = nic >= 0 ? nic : cluster.inside.nearest_nic[target_gpu];
  if (nic_out < 0 || nic_in < 0) throw_unreachable(cluster, from, to);
  const NodePath& out = cluster.inside.gpu_to_nic[source_gpu][static_cast<std::size_t>(nic_out)];
  const NodePath& in = cluster.inside.nic_to_gpu[static_cast<std::size_t>(nic_in)][target_gpu];
  if (!out.reachable || !in.reachable) throw_unreachable(cluster, from, to);
  append_inside(cluster, source_node, out, links);
  links.push_back(nic_link(cluster, source_node, nic_out, false));
  const int source_leaf = leaf_of(cluster, source_node);
  const int target_leaf = leaf_of(cluster, target_node);
  if (source_leaf != target_leaf && has_uplinks(cluster)) {
    links.push_back(LinkId{first_uplink(cluster) + 2 * static_cast<std::uint32_t>(source_leaf)});
    links.push_back(LinkId{first_uplink(cluster) + 2 * static_cast<std::uint32_t>(target_leaf) + 1});
  }
  links.push_back(nic_link(cluster, target_node, nic_in, true));
  append_inside(cluster, target_node, in, links);
  return {out.latency + cluster.platform.fabric.latency.value + in.latency, true,
          out.crosses_pcie || in.crosses_pcie};
}

Route route(const Cluster& cluster, Rank from, Rank to, int nic) {
  Route result;
  const RouteSummary summary = append_route(cluster, from, to, nic, result.links);
  result.latency = summary.latency;
  result.crosses_network = summary.crosses_network;
  result.crosses_pcie = summary.crosses_pcie;
  return result;
}

}  // namespace trainyard
