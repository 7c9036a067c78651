#include "platform/node_routes.hpp"

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>
#include <map>
#include <optional>

namespace trainyard {
namespace {

constexpr int unreachable = std::numeric_limits<int>::max();

bool is_end(const Device& device) { return device.kind == DeviceKind::gpu || device.kind == DeviceKind::nic; }

/// Keeps the edges for paths from `from`: those out of `from`, or out of a device that forwards. Relies on
/// Boost: in an undirected graph, the source of an out-edge is the vertex it leaves.
struct Forwards {
  const NodeGraph* graph = nullptr;
  DeviceId from = 0;

  bool operator()(EdgeId edge) const {
    const DeviceId leaves = source(edge, *graph);
    return leaves == from || !is_end((*graph)[leaves]);
  }
};

int weight(const Link& link) { return is_nvlink(link.kind) ? 1 : 100; }

/// Shortest distances from one device, and the previous device of each path.
struct Tree {
  std::vector<int> distance;
  std::vector<DeviceId> before;
};

Tree shortest_ways(const NodeGraph& graph, DeviceId from) {
  const boost::filtered_graph<NodeGraph, Forwards> allowed(graph, Forwards{&graph, from});
  const std::size_t devices = num_vertices(graph);
  Tree tree{std::vector<int>(devices, unreachable), std::vector<DeviceId>(devices, from)};
  const auto weights =
      boost::make_function_property_map<EdgeId>([&](EdgeId edge) { return weight(graph[edge]); });
  boost::dijkstra_shortest_paths(allowed, from,
                                 boost::weight_map(weights)
                                     .distance_map(boost::make_iterator_property_map(
                                         tree.distance.begin(), get(boost::vertex_index, graph)))
                                     .predecessor_map(boost::make_iterator_property_map(
                                         tree.before.begin(), get(boost::vertex_index, graph)))
                                     .distance_inf(unreachable));
  return tree;
}

/// The directed links; edges are numbered in the order of the file.
struct LinkNumbers {
  std::vector<std::vector<std::uint32_t>> from_to;  ///< by device numbers
  std::vector<EdgeId> edge;                         ///< by link number / 2
};

LinkNumbers number_links(const NodeGraph& graph) {
  LinkNumbers numbers;
  numbers.from_to.assign(num_vertices(graph), std::vector<std::uint32_t>(num_vertices(graph), 0));
  std::uint32_t next = 0;
  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    numbers.from_to[source(*edge, graph)][target(*edge, graph)] = next++;
    numbers.from_to[target(*edge, graph)][source(*edge, graph)] = next++;
    numbers.edge.push_back(*edge);
  }
  return numbers;
}

void add_latency(const Link& link, NodePath& path) {
  const Seconds longer = link.latency.value - usual_latency(link.kind);
  path.latency += link.latency.value;
  path.beyond_usual += std::max(Seconds{}, longer);
  path.below_usual += std::max(Seconds{}, Seconds{} - longer);
}

NodePath path_to(const NodeGraph& graph, const Tree& tree, const LinkNumbers& numbers, DeviceId from,
                 DeviceId to) {
  NodePath path;
  if (tree.distance[to] == unreachable) return path;
  path.reachable = true;
  path.distance = tree.distance[to];
  for (DeviceId at = to; at != from; at = tree.before[at]) {
    const Link& link = graph[edge(tree.before[at], at, graph).first];
    path.links.push_back(numbers.from_to[tree.before[at]][at]);
    add_latency(link, path);
  }
  std::ranges::reverse(path.links);
  return path;
}

/// NVLinks come first, in the same order, in both lists.
PathType type_of(LinkKind nvlink) { return static_cast<PathType>(nvlink); }
static_assert(is_nvlink(LinkKind::nvlink5) && static_cast<PathType>(LinkKind::nvlink5) == PathType::nvlink5);

/// From the devices between the ends. An NVLink to a CPU counts as any other path through that CPU.
PathType type_of(const NodeGraph& graph, const LinkNumbers& numbers, const NodePath& path) {
  int cpus = 0;
  int switches = 0;
  bool has_nvlinks_alone = true;
  PathType slowest = best_path;
  for (std::size_t i = 0; i < path.links.size(); ++i) {
    const EdgeId edge = numbers.edge[path.links[i] / 2];
    has_nvlinks_alone = has_nvlinks_alone && is_nvlink(graph[edge].kind);
    if (has_nvlinks_alone) slowest = worse(slowest, type_of(graph[edge].kind));
    if (i + 1 == path.links.size()) break;
    const bool is_forwards = path.links[i] % 2 == 0;
    const Device& passed = graph[is_forwards ? target(edge, graph) : source(edge, graph)];
    if (passed.kind == DeviceKind::cpu) ++cpus;
    if (passed.kind == DeviceKind::pcie_switch) ++switches;
  }
  if (cpus > 0) return cpus == 1 ? PathType::phb : PathType::sys;
  if (has_nvlinks_alone) return slowest;
  return switches <= 1 ? PathType::pix : PathType::pxb;
}

/// The CPU nearest to the start of `tree`, whose memory holds the data it sends; empty if it reaches none.
std::optional<DeviceId> nearest_host(const NodeGraph& graph, const Tree& tree) {
  std::optional<DeviceId> nearest;
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind != DeviceKind::cpu || tree.distance[device] == unreachable) continue;
    if (!nearest || tree.distance[device] < tree.distance[*nearest]) nearest = device;
  }
  return nearest;
}

/// The path to `to` with a stop in host memory; keeps the distance of `direct`, the path without the stop.
NodePath through_host(const NodeGraph& graph, const Tree& tree, const LinkNumbers& numbers, DeviceId from,
                      DeviceId to, const NodePath& direct) {
  const std::optional<DeviceId> host = nearest_host(graph, tree);
  if (!host || !direct.reachable) return {};
  NodePath path = path_to(graph, tree, numbers, from, *host);
  const NodePath rest = path_to(graph, shortest_ways(graph, *host), numbers, *host, to);
  path.links.insert(path.links.end(), rest.links.begin(), rest.links.end());
  path.latency += rest.latency;
  path.beyond_usual += rest.beyond_usual;
  path.below_usual += rest.below_usual;
  path.distance = direct.distance;
  path.reachable = rest.reachable;
  return path;
}

/// The positions of all paths with the shortest distance, ascending.
std::vector<int> nearest(const std::vector<NodePath>& paths) {
  std::vector<int> best;
  int distance = unreachable;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    if (!paths[k].reachable || paths[k].distance > distance) continue;
    if (paths[k].distance < distance) best.clear();
    distance = paths[k].distance;
    best.push_back(static_cast<int>(k));
  }
  return best;
}

/// GPUs that are equally near to several NICs take them in turn, as in NCCL (ncclTopoGetLocalNet in
/// src/graph/topo.cc).
std::vector<int> shared_out(const std::vector<std::vector<NodePath>>& gpu_to_nic) {
  std::map<std::vector<int>, std::size_t> users;
  std::vector<int> nics;
  for (const std::vector<NodePath>& paths : gpu_to_nic) {
    const std::vector<int> near = nearest(paths);
    nics.push_back(near.empty() ? -1 : near[users[near]++ % near.size()]);
  }
  return nics;
}

/// Paths from the CPUs, where parameter servers keep their shards.
void add_ways_of_cpus(const Platform& platform, const LinkNumbers& numbers, NodeRoutes& routes) {
  for (const DeviceId cpu : platform.cpus) {
    const Tree tree = shortest_ways(platform.node, cpu);
    const auto ways_to = [&](const std::vector<DeviceId>& devices) {
      std::vector<NodePath> paths;
      for (const DeviceId device : devices) {
        paths.push_back(path_to(platform.node, tree, numbers, cpu, device));
        paths.back().type = type_of(platform.node, numbers, paths.back());
      }
      return paths;
    };
    routes.cpu_to_gpu.push_back(ways_to(platform.gpus));
    routes.cpu_to_nic.push_back(ways_to(platform.nics));
    const std::vector<int> near = nearest(routes.cpu_to_nic.back());
    routes.nic_of_cpu.push_back(near.empty() ? -1 : near.front());
  }
}

}  // namespace

NodePath reversed(NodePath path) {
  std::ranges::reverse(path.links);
  // the two directions of a link are neighbours: 2e and 2e + 1
  for (std::uint32_t& link : path.links) link ^= 1U;
  return path;
}

NodeRoutes node_routes(const Platform& platform) {
  const NodeGraph& graph = platform.node;
  const LinkNumbers numbers = number_links(graph);
  const std::size_t gpus = platform.gpus.size();
  const std::size_t nics = platform.nics.size();

  NodeRoutes routes;
  routes.gpu_to_gpu.assign(gpus, std::vector<NodePath>(gpus));
  routes.gpu_to_nic.assign(gpus, std::vector<NodePath>(nics));
  routes.nic_to_gpu.assign(nics, std::vector<NodePath>(gpus));
  for (std::size_t from = 0; from < gpus; ++from) {
    const DeviceId start = platform.gpus[from];
    const Tree tree = shortest_ways(graph, start);
    // only one of the two directions is searched, so the way back has the same links
    for (std::size_t to = from; to < gpus; ++to) {
      NodePath& path = routes.gpu_to_gpu[from][to];
      path = path_to(graph, tree, numbers, start, platform.gpus[to]);
      path.type = type_of(graph, numbers, path);
      if (to != from && !platform.has_peer_to_peer && !is_nvlink(path.type)) {
        path = through_host(graph, tree, numbers, start, platform.gpus[to], path);
        path.type = PathType::staged;
        path.limit = platform.staged.value;
      }
      routes.gpu_to_gpu[to][from] = reversed(path);
    }
    for (std::size_t nic = 0; nic < nics; ++nic) {
      NodePath& path = routes.gpu_to_nic[from][nic];
      path = path_to(graph, tree, numbers, start, platform.nics[nic]);
      // NCCL does not see that access control diverts the traffic: it plans with the switch's path.
      const PathType planned = type_of(graph, numbers, path);
      const bool is_diverted = is_redirected(platform.fabric);
      if (is_diverted || !platform.fabric.gpudirect.value)
        path = through_host(graph, tree, numbers, start, platform.nics[nic], path);
      path.type = is_diverted ? planned : type_of(graph, numbers, path);
      routes.nic_to_gpu[nic][from] = reversed(routes.gpu_to_nic[from][nic]);
    }
  }
  routes.nearest_nic = shared_out(routes.gpu_to_nic);
  add_ways_of_cpus(platform, numbers, routes);
  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    routes.capacity.insert(routes.capacity.end(), 2, graph[*edge].effective.value);
    routes.specified.insert(routes.specified.end(), 2, graph[*edge].bandwidth.value);
  }
  return routes;
}

std::vector<DeviceId> devices_between(const NodeGraph& graph, DeviceId from, DeviceId to) {
  const Tree tree = shortest_ways(graph, from);
  if (tree.distance[to] == unreachable) return {};
  std::vector<DeviceId> devices{to};
  while (devices.back() != from) devices.push_back(tree.before[devices.back()]);
  std::ranges::reverse(devices);
  return devices;
}

}  // namespace trainyard
