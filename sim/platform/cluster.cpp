#include "platform/cluster.hpp"

#include "platform/names.hpp"
#include "units/leading_number.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

std::uint32_t links_inside(const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.inside.capacity.size());
}

std::uint32_t first_of_fabric(const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.nodes) * links_per_node(cluster);
}

/// The position of a link, from its number.
struct Place {
  enum class Kind { inside, nic_out, nic_in, fabric } kind;
  std::uint32_t node;
  std::uint32_t number;  ///< of the link inside the node, of the NIC, or of the link of the fabric
};

Place place_of(const Cluster& cluster, LinkId link) {
  const std::uint32_t of_nodes = first_of_fabric(cluster);
  if (index(link) >= of_nodes) return {Place::Kind::fabric, 0, index(link) - of_nodes};
  const std::uint32_t node = index(link) / links_per_node(cluster);
  const std::uint32_t number = index(link) % links_per_node(cluster);
  if (number < links_inside(cluster)) return {Place::Kind::inside, node, number};
  const std::uint32_t port = number - links_inside(cluster);
  return {port % 2 == 0 ? Place::Kind::nic_out : Place::Kind::nic_in, node, port / 2};
}

EdgeId edge_of(const Cluster& cluster, const Place& place) {
  return *std::next(edges(cluster.platform.node).first, place.number / 2);
}

LinkRates rates(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  switch (place.kind) {
    case Place::Kind::inside:
      return {cluster.inside.capacity[place.number], cluster.inside.specified[place.number]};
    case Place::Kind::nic_out:
    case Place::Kind::nic_in:
      return {cluster.platform.fabric.effective.value, cluster.platform.fabric.nic.value};
    case Place::Kind::fabric:
      break;
  }
  return cluster.network->rates(place.number);
}

/// Whether a figure that gives links inside the fabric this rate is assumed.
bool has_assumed_rate(const Fabric& fabric, Bandwidth specified) {
  const auto gives = [&](const Sourced<Bandwidth>& rate) {
    return rate.provenance == Provenance::assumed && rate.value == specified;
  };
  const auto is_narrowed = [](const Sourced<double>& oversubscription) {
    return oversubscription.provenance == Provenance::assumed;
  };
  switch (fabric.kind) {
    case FabricKind::fat_tree:
      return fabric.nic.provenance == Provenance::assumed ||
             std::ranges::any_of(fabric.levels, is_narrowed, &TreeLevel::oversubscription);
    case FabricKind::rail_optimised:
      return fabric.nic.provenance == Provenance::assumed || is_narrowed(fabric.rail.oversubscription);
    case FabricKind::torus2d:
    case FabricKind::torus3d:
      return gives(fabric.torus.link);
    case FabricKind::dragonfly:
      return gives(fabric.dragonfly.local_link) || gives(fabric.dragonfly.global_link);
    case FabricKind::custom:
      return std::ranges::any_of(fabric.custom.links, gives, &CustomLink::bandwidth);
    case FabricKind::none:
    case FabricKind::single_switch:
      break;
  }
  return false;
}

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
  const std::uint32_t first = first_of_fabric(cluster);
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

NodeId Cluster::node_of(Rank rank) const {
  if (index(rank) < first_rank[at(like_first)]) return NodeId{index(rank) / gpus_on_node.front()};
  const auto after = std::ranges::upper_bound(first_rank, index(rank));
  return NodeId{static_cast<int>(std::distance(first_rank.begin(), after)) - 1};
}

DeviceId Cluster::gpu_of(Rank rank) const {
  const int first = first_rank[static_cast<std::size_t>(index(node_of(rank)))];
  return platform.gpus[static_cast<std::size_t>(index(rank) - first)];
}

std::uint32_t link_count(const Cluster& cluster) {
  return first_of_fabric(cluster) + cluster.network->links();
}

Bandwidth capacity(const Cluster& cluster, LinkId link) { return rates(cluster, link).effective; }

LinkValues<Bandwidth> link_capacities(const Cluster& cluster) {
  LinkValues<Bandwidth> all;
  std::vector<Bandwidth> block;
  const auto add = [&](std::uint32_t first, std::uint32_t count, std::uint32_t times) {
    block.clear();
    for (std::uint32_t link = first; link < first + count; ++link)
      block.push_back(capacity(cluster, LinkId{link}));
    all.append(block, times);
  };
  add(0, links_per_node(cluster), unsigned_of(cluster.nodes));
  const std::uint32_t end = link_count(cluster);
  const std::uint32_t of_switch = cluster.network->links_of_switch();
  for (std::uint32_t link = first_of_fabric(cluster); link < end; link += of_switch)
    add(link, std::min(of_switch, end - link), 1);
  return all;
}

std::uint32_t links_per_node(const Cluster& cluster) {
  return links_inside(cluster) + 2 * static_cast<std::uint32_t>(cluster.platform.nics.size());
}

std::uint32_t nic_link_in_node(const Cluster& cluster, int nic, bool is_inwards) {
  return links_inside(cluster) + 2 * unsigned_of(nic) + (is_inwards ? 1U : 0U);
}

bool fills_alike_nodes(const Cluster& cluster, std::span<const Rank> group) {
  return cluster.like_first == cluster.nodes && static_cast<int>(group.size()) == cluster.ranks();
}

int lanes(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  return place.kind == Place::Kind::inside ? cluster.platform.node[edge_of(cluster, place)].lanes : 1;
}

Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link) { return rates(cluster, link).specified; }

bool is_assumed(const Cluster& cluster, LinkId link) {
  const auto is_assumed_figure = [](const auto& figure) { return figure.provenance == Provenance::assumed; };
  const Place place = place_of(cluster, link);
  if (place.kind == Place::Kind::inside)
    return is_assumed_figure(cluster.platform.node[edge_of(cluster, place)].effective);
  const Fabric& fabric = cluster.platform.fabric;
  if (place.kind != Place::Kind::fabric)
    return is_assumed_figure(fabric.nic) || is_assumed_figure(fabric.effective);
  return is_assumed_figure(fabric.effective) || has_assumed_rate(fabric, rates(cluster, link).specified);
}

std::string link_name(const Cluster& cluster, LinkId link) {
  const NodeGraph& graph = cluster.platform.node;
  const Place place = place_of(cluster, link);
  const std::string node = "node" + std::to_string(place.node) + ".";
  switch (place.kind) {
    case Place::Kind::nic_out:
      return node + graph[cluster.platform.nics[place.number]].name + "->fabric";
    case Place::Kind::nic_in:
      return "fabric->" + node + graph[cluster.platform.nics[place.number]].name;
    case Place::Kind::fabric:
      return cluster.network->name(place.number);
    case Place::Kind::inside:
      break;
  }
  const EdgeId edge = edge_of(cluster, place);
  const std::string& one = graph[source(edge, graph)].name;
  const std::string& other = graph[target(edge, graph)].name;
  return node + (place.number % 2 == 0 ? one + "->" + other : other + "->" + one);
}

std::string_view link_medium(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  if (place.kind != Place::Kind::inside) return "network";
  return config::name_of(cluster.platform.node[edge_of(cluster, place)].kind);
}

std::optional<NodeId> node_of(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  return place.kind == Place::Kind::fabric ? std::nullopt
                                           : std::optional(NodeId{static_cast<std::int32_t>(place.node)});
}

std::optional<LinkId> find_link(const Cluster& cluster, std::string_view name) {
  const auto search = [&](std::uint32_t first, std::uint32_t end) -> std::optional<LinkId> {
    for (std::uint32_t link = first; link < end; ++link) {
      if (link_name(cluster, LinkId{link}) == name) return LinkId{link};
    }
    return std::nullopt;
  };
  std::string_view node = name;
  if (node.starts_with("fabric->")) node.remove_prefix(std::string_view("fabric->").size());
  if (const auto number = take_number(node, "node"); number && *number < cluster.nodes) {
    const std::uint32_t first = unsigned_of(*number) * links_per_node(cluster);
    if (const auto found = search(first, first + links_per_node(cluster))) return found;
  }
  return search(first_of_fabric(cluster), link_count(cluster));
}

bool is_fabric(const Cluster& cluster, LinkId link) {
  return place_of(cluster, link).kind != Place::Kind::inside;
}

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
                                                    first_of_fabric(cluster), links);
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
  } else if (cluster.platform.fabric.rail.pxn.value && way.nic_out != way.nic_in) {
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
