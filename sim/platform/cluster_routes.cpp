// Routes of a cluster: inside a node, and through NICs and the fabric from one node to another.

#include "platform/cluster.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

LinkId nic_link(const Cluster& cluster, int node, int nic, bool inwards) {
  return LinkId{static_cast<std::uint32_t>(node) * links_per_node(cluster) +
                nic_link_in_node(cluster, nic, inwards)};
}

void append_inside(const Cluster& cluster, int node, const NodePath& path, std::vector<LinkId>& links) {
  const std::uint32_t base = static_cast<std::uint32_t>(node) * links_per_node(cluster);
  for (const std::uint32_t link : path.links) links.push_back(LinkId{base + link});
}

[[noreturn]] void throw_unreachable(const Cluster& cluster, Rank from, Rank to,
                                    const std::string& reason = "no links lead from one to the other") {
  const auto name = [&](Rank rank) {
    return fmt::format("node{}.{}", index(cluster.node_of(rank)),
                       cluster.platform.node[cluster.gpu_of(rank)].name);
  };
  throw Unreachable(
      fmt::format("{} cannot reach {} on {}: {}", name(from), name(to), cluster.platform.name, reason));
}

[[noreturn]] void throw_unreachable_across(const Cluster& cluster, Rank from, Rank to,
                                           const WayBetween& way) {
  throw_unreachable(
      cluster, from, to,
      fmt::format("no links of the fabric lead from nic{} of the first node to nic{} of the second",
                  way.nic_out, way.nic_in));
}

/// The GPU that hands data of `gpu` to a NIC (NCCL's PXN): of the ranks' GPUs for which `is_near` holds and
/// to which NVLinks lead, the one with the place of `gpu`, so that groups side by side use all of them; `gpu`
/// itself if there is none.
template <class IsNear>
std::size_t proxy(const Cluster& cluster, int node, std::size_t gpu, IsNear is_near) {
  std::vector<std::size_t> found;
  for (std::size_t other = 0; other < at(cluster.gpus_on_node[at(node)]); ++other) {
    const NodePath& path = cluster.inside.gpu_to_gpu[gpu][other];
    if (is_near(other) && path.reachable && is_nvlink(path.type)) found.push_back(other);
  }
  return found.empty() ? gpu : found[gpu % found.size()];
}

/// Appends the links out of one node, through the fabric and into the other; returns their latency. Empty if
/// the fabric does not join the NICs.
std::optional<Seconds> append_between(const Cluster& cluster, Port from, const NodePath& out, Port to,
                                      const NodePath& in, std::vector<LinkId>& links) {
  append_inside(cluster, from.node, out, links);
  links.push_back(nic_link(cluster, from.node, from.nic, false));
  const std::uint32_t first = first_fabric_link(cluster);
  const std::optional<Seconds> across = cluster.network->append_route(from, to, first, links);
  if (!across) return std::nullopt;
  links.push_back(nic_link(cluster, to.node, to.nic, true));
  append_inside(cluster, to.node, in, links);
  return out.latency + *across + in.latency;
}

/// Between a GPU and the memory of a CPU, in either direction.
RouteSummary append_host_route(const Cluster& cluster, Rank rank, HostMemory host, bool is_to_host,
                               std::vector<LinkId>& links) {
  const NodeRoutes& inside = cluster.inside;
  const int gpu_node = index(cluster.node_of(rank));
  const int host_node = index(host.node);
  const std::size_t gpu = at(index(rank) - cluster.first_rank[at(gpu_node)]);
  const auto throw_lost = [&]() {
    throw Unreachable(fmt::format("node{}.{} cannot reach the memory of node{}.cpu{} on {}", gpu_node,
                                  cluster.platform.node[cluster.gpu_of(rank)].name, host_node, host.cpu,
                                  cluster.platform.name));
  };
  if (gpu_node == host_node) {
    const NodePath& path = inside.cpu_to_gpu[at(host.cpu)][gpu];
    if (!path.reachable) throw_lost();
    append_inside(cluster, gpu_node, is_to_host ? reversed(path) : path, links);
    return {path.latency, path.type, path.limit};
  }
  const int gpu_nic = inside.nearest_nic[gpu];
  const int host_nic = inside.nic_of_cpu[at(host.cpu)];
  if (gpu_nic < 0 || host_nic < 0) throw_lost();
  const Port gpu_port{gpu_node, gpu_nic};
  const Port host_port{host_node, host_nic};
  const NodePath& of_host = inside.cpu_to_nic[at(host.cpu)][at(host_nic)];
  const std::optional<Seconds> latency =
      is_to_host
          ? append_between(cluster, gpu_port, inside.gpu_to_nic[gpu][at(gpu_nic)], host_port,
                           reversed(of_host), links)
          : append_between(cluster, host_port, of_host, gpu_port, inside.nic_to_gpu[at(gpu_nic)][gpu], links);
  if (!latency) throw_lost();
  return {*latency, PathType::network, cluster.platform.fabric.per_flow.value};
}

}  // namespace

int sender_through(const Cluster& cluster, Rank rank, int nic) {
  const int node = index(cluster.node_of(rank));
  const std::size_t gpu = at(index(rank) - cluster.first_rank[at(node)]);
  const auto path_of = [&](std::size_t other) -> const NodePath& {
    return cluster.inside.gpu_to_nic[other][at(nic)];
  };
  const auto avoids_cpus = [&](std::size_t other) {
    return path_of(other).reachable && path_of(other).type <= PathType::pxb;
  };
  if (avoids_cpus(gpu)) return static_cast<int>(gpu);
  const std::size_t found = proxy(cluster, node, gpu, avoids_cpus);
  if (found != gpu || path_of(gpu).reachable) return static_cast<int>(found);
  // Where every path to the NIC leads through a CPU, and those of other trays are not joined: the nearest.
  std::optional<PathType> least;
  for (std::size_t other = 0; other < at(cluster.gpus_on_node[at(node)]); ++other) {
    if (path_of(other).reachable) least = std::min(least.value_or(path_of(other).type), path_of(other).type);
  }
  return static_cast<int>(proxy(cluster, node, gpu, [&](std::size_t other) {
    return path_of(other).reachable && path_of(other).type == least;
  }));
}

const NodePath& path_inside(const Cluster& cluster, Rank from, Rank to) {
  const int first = cluster.first_rank[at(index(cluster.node_of(from)))];
  return cluster.inside.gpu_to_gpu[at(index(from) - first)][at(index(to) - first)];
}

RouteSummary append_route(const Cluster& cluster, Rank from, Rank to, int nic, std::vector<LinkId>& links) {
  const NodeRoutes& inside = cluster.inside;
  const int source_node = index(cluster.node_of(from));
  const int target_node = index(cluster.node_of(to));
  const auto local = [&](Rank rank, int node) { return at(index(rank) - cluster.first_rank[at(node)]); };
  const std::size_t source_gpu = local(from, source_node);
  const std::size_t target_gpu = local(to, target_node);
  if (source_node == target_node) {
    const NodePath& path = inside.gpu_to_gpu[source_gpu][target_gpu];
    if (!path.reachable) throw_unreachable(cluster, from, to);
    append_inside(cluster, source_node, path, links);
    return {path.latency, path.type, path.limit, path.beyond_usual};
  }

  const WayBetween way = way_between(cluster, from, to, nic);
  if (way.to_sender != nullptr) append_inside(cluster, source_node, *way.to_sender, links);
  append_inside(cluster, source_node, *way.out, links);
  links.push_back(nic_link(cluster, source_node, way.nic_out, false));
  const auto across = cluster.network->append_route({source_node, way.nic_out}, {target_node, way.nic_in},
                                                    first_fabric_link(cluster), links);
  if (!across) throw_unreachable_across(cluster, from, to, way);
  links.push_back(nic_link(cluster, target_node, way.nic_in, true));
  append_inside(cluster, target_node, *way.in, links);
  return route_over(cluster, way, *across);
}

WayBetween way_between(const Cluster& cluster, Rank from, Rank to, int nic) {
  const NodeRoutes& inside = cluster.inside;
  const int node = index(cluster.node_of(from));
  const std::size_t gpu = at(index(from) - cluster.first_rank[at(node)]);
  const std::size_t target = at(index(to) - cluster.first_rank[at(index(cluster.node_of(to)))]);
  WayBetween way;
  way.nic_in = nic >= 0 ? nic : inside.nearest_nic[target];
  way.nic_out = nic >= 0 ? nic : inside.nearest_nic[gpu];
  if (way.nic_out < 0 || way.nic_in < 0) throw_unreachable(cluster, from, to);
  std::size_t sender = gpu;
  if (nic >= 0) {
    sender = at(sender_through(cluster, from, nic));
  } else if (nic != own_nics && cluster.platform.fabric.rail.pxn.value && way.nic_out != way.nic_in) {
    sender =
        proxy(cluster, node, gpu, [&](std::size_t other) { return inside.nearest_nic[other] == way.nic_in; });
    if (sender != gpu) way.nic_out = way.nic_in;
  }
  if (sender != gpu) way.to_sender = &inside.gpu_to_gpu[gpu][sender];
  way.out = &inside.gpu_to_nic[sender][at(way.nic_out)];
  way.in = &inside.nic_to_gpu[at(way.nic_in)][target];
  if (!way.out->reachable || !way.in->reachable) throw_unreachable(cluster, from, to);
  return way;
}

RouteSummary route_over(const Cluster& cluster, const WayBetween& way, Seconds across) {
  const Seconds first = way.to_sender != nullptr ? way.to_sender->latency : Seconds{};
  return {first + (way.out->latency + across + way.in->latency), PathType::network,
          cluster.platform.fabric.per_flow.value};
}

RouteSummary append_route(const Cluster& cluster, Rank from, HostMemory to, std::vector<LinkId>& links) {
  return append_host_route(cluster, from, to, true, links);
}

RouteSummary append_route(const Cluster& cluster, HostMemory from, Rank to, std::vector<LinkId>& links) {
  return append_host_route(cluster, to, from, false, links);
}

RouteSummary append_route(const Cluster& cluster, HostMemory from, HostMemory to,
                          std::vector<LinkId>& links) {
  if (from.node == to.node) {
    assert(from.cpu == to.cpu);
    return {};
  }
  const NodeRoutes& inside = cluster.inside;
  const int from_nic = inside.nic_of_cpu[at(from.cpu)];
  const int to_nic = inside.nic_of_cpu[at(to.cpu)];
  std::optional<Seconds> latency;
  if (from_nic >= 0 && to_nic >= 0) {
    latency =
        append_between(cluster, {index(from.node), from_nic}, inside.cpu_to_nic[at(from.cpu)][at(from_nic)],
                       {index(to.node), to_nic}, reversed(inside.cpu_to_nic[at(to.cpu)][at(to_nic)]), links);
  }
  if (!latency) {
    throw Unreachable(fmt::format("the hosts of node{} and node{} cannot reach each other on {}",
                                  index(from.node), index(to.node), cluster.platform.name));
  }
  return {*latency, PathType::network, cluster.platform.fabric.per_flow.value};
}

Route route(const Cluster& cluster, Rank from, Rank to, int nic) {
  Route result;
  static_cast<RouteSummary&>(result) = append_route(cluster, from, to, nic, result.links);
  return result;
}

}  // namespace trainyard
