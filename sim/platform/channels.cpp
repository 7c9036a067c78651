#include "platform/channels.hpp"

#include "platform/ring_search.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

/// The NVLinks among the first `gpus` GPUs of a node, counted in what `lanes_of` says of each link.
template <class LanesOf>
LaneGraph lane_graph(const Platform& platform, int gpus, LanesOf lanes_of) {
  const NodeGraph& graph = platform.node;
  const auto count = static_cast<std::size_t>(gpus);
  LaneGraph lanes{gpus, std::vector(count, std::vector<int>(count, 0)), {}};
  std::vector<int> gpu_number(num_vertices(graph), -1);
  for (int gpu = 0; gpu < gpus; ++gpu) gpu_number[platform.gpus[static_cast<std::size_t>(gpu)]] = gpu;
  std::vector<int> switch_number(num_vertices(graph), -1);
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind != DeviceKind::nvswitch) continue;
    switch_number[device] = static_cast<int>(lanes.ports.size());
    lanes.ports.emplace_back(count, 0);
  }

  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    const Link& link = graph[*edge];
    if (!is_nvlink(link.kind)) continue;
    DeviceId one = source(*edge, graph);
    DeviceId other = target(*edge, graph);
    if (gpu_number[one] < 0) std::swap(one, other);
    if (gpu_number[one] < 0) continue;
    const auto gpu = static_cast<std::size_t>(gpu_number[one]);
    if (switch_number[other] >= 0) {
      lanes.ports[static_cast<std::size_t>(switch_number[other])][gpu] += lanes_of(link);
    } else if (gpu_number[other] >= 0) {
      const auto peer = static_cast<std::size_t>(gpu_number[other]);
      lanes.direct[gpu][peer] += lanes_of(link);
      lanes.direct[peer][gpu] += lanes_of(link);
    }
  }
  return lanes;
}

/// All GPUs of the list `left` after `order`, each the nearest to the one before: neighbours on the PCIe tree
/// stay together, and so do GPUs that share NVLinks.
GpuOrder continued_nearest_first(const Cluster& cluster, GpuOrder order, std::vector<int> left) {
  while (!left.empty()) {
    const auto& from = cluster.inside.gpu_to_gpu[static_cast<std::size_t>(order.back())];
    const auto nearest = std::ranges::min_element(
        left, {}, [&](int gpu) { return from[static_cast<std::size_t>(gpu)].distance; });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

std::vector<int> first_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

Channel to_channel(const GpuOrder& order) {
  Channel channel;
  for (const int gpu : order) channel.order.push_back(Rank{gpu});
  return channel;
}

std::vector<Channel> channels_of_one_node(const Cluster& cluster, std::vector<std::string>* notes) {
  const int gpus = cluster.ranks();
  std::vector<Channel> channels;
  if (gpus < 2) return channels;
  const LaneGraph lanes = lane_graph(cluster.platform, gpus, [](const Link& link) { return link.lanes; });
  if (is_connected(lanes)) {
    const RingSearch found = find_rings(lanes);
    for (const GpuOrder& ring : found.rings) channels.push_back(to_channel(ring));
    if (!found.is_exact && notes != nullptr) {
      notes->push_back(
          fmt::format("the search for rings through the {} GPUs stopped at {}: more may fit, and "
                      "collectives be faster",
                      gpus, found.rings.size()));
    }
    if (!channels.empty()) return channels;
    if (const auto chain = find_chain(lanes)) {
      channels.push_back(to_channel(*chain));
      channels.back().is_chain = true;
      return channels;
    }
  }
  std::vector<int> others = first_gpus(gpus);
  others.erase(others.begin());
  channels.push_back(to_channel(continued_nearest_first(cluster, {0}, others)));
  return channels;
}

/// The NICs nearest to some GPU of a node of `gpus` ranks: those NCCL would open there.
std::vector<int> nics_near(const Cluster& cluster, int gpus) {
  std::vector<int> found;
  for (int nic = 0; nic < static_cast<int>(cluster.platform.nics.size()); ++nic) {
    const bool is_near = std::ranges::any_of(first_gpus(gpus), [&](int gpu) {
      const auto& paths = cluster.inside.gpu_to_nic[static_cast<std::size_t>(gpu)];
      const int nearest = cluster.inside.nearest_nic[static_cast<std::size_t>(gpu)];
      const NodePath& path = paths[static_cast<std::size_t>(nic)];
      // a NIC as near as the nearest counts too
      if (nearest < 0) return false;
      return path.reachable && path.distance == paths[static_cast<std::size_t>(nearest)].distance;
    });
    if (is_near) found.push_back(nic);
  }
  return found;
}

/// For each NIC the GPUs that reach it, nearest first. Of equally near ones those come first at which fewer
/// rings of the NICs before it enter: two NICs beside two GPUs use both, as NCCL's rings do (NVIDIA/nccl
/// issue 820).
std::vector<GpuOrder> gpus_by_nearness(const Cluster& cluster, int gpus, const std::vector<int>& nics) {
  std::vector<int> entries(static_cast<std::size_t>(gpus), 0);
  std::vector<GpuOrder> orders;
  for (const int nic : nics) {
    const auto path = [&](int gpu) -> const NodePath& {
      return cluster.inside.gpu_to_nic[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(nic)];
    };
    GpuOrder order = first_gpus(gpus);
    std::erase_if(order, [&](int gpu) { return !path(gpu).reachable; });
    std::ranges::stable_sort(order, {}, [&](int gpu) {
      return std::pair(path(gpu).distance, entries[static_cast<std::size_t>(gpu)]);
    });
    ++entries[static_cast<std::size_t>(order.front())];
    orders.push_back(order);
  }
  return orders;
}

/// Entry and exit of a NIC's ring on a node: the two nearest GPUs between which NVLinks allow a path through
/// all.
std::optional<PathEnds> path_ends(const LaneGraph& lanes, const GpuOrder& near) {
  if (near.size() == 1 && lanes.gpus == 1) return PathEnds{near.front(), near.front()};
  for (std::size_t last = 1; last < near.size(); ++last) {
    const PathEnds ends{near.front(), near[last]};
    if (find_paths(lanes, std::span(&ends, 1))) return ends;
  }
  return std::nullopt;
}

LaneGraph times(LaneGraph lanes, int factor) {
  for (auto* table : {&lanes.direct, &lanes.ports}) {
    for (std::vector<int>& row : *table) {
      for (int& count : row) count *= factor;
    }
  }
  return lanes;
}

/// The way of each NIC's ring through a node of `gpus` ranks, one per entry of `nics`.
std::vector<GpuOrder> paths_through(const Cluster& cluster, int gpus, const std::vector<int>& nics) {
  // a network flow needs a NIC's rate and not a lane, so a link carries as many as fit, but never fewer than
  // lanes
  const double nic_rate = cluster.platform.fabric.effective.value.si();
  const LaneGraph slots = lane_graph(cluster.platform, gpus, [&](const Link& link) {
    return std::max(link.lanes, static_cast<int>(std::min(link.effective.value.si() / nic_rate, 1e6)));
  });
  const std::vector<GpuOrder> orders = gpus_by_nearness(cluster, gpus, nics);
  std::vector<PathEnds> ends;
  if (is_connected(slots)) {
    for (const GpuOrder& near : orders) {
      if (const auto found = path_ends(slots, near)) ends.push_back(*found);
    }
  }
  if (ends.size() == nics.size()) {
    // each path fits alone; where all do not fit side by side they share links more than their rates allow
    for (int factor = 1; factor <= static_cast<int>(nics.size()); ++factor) {
      if (auto paths = find_paths(times(slots, factor), ends)) return *std::move(paths);
    }
  }
  std::vector<GpuOrder> paths;
  for (const GpuOrder& near : orders) {
    std::vector<int> others = first_gpus(gpus);
    std::erase(others, near.front());
    if (near.size() < 2) {
      paths.push_back(continued_nearest_first(cluster, {near.front()}, others));
      continue;
    }
    std::erase(others, near[1]);
    paths.push_back(continued_nearest_first(cluster, {near.front()}, others));
    paths.back().push_back(near[1]);
  }
  return paths;
}

std::vector<Channel> channels_between_nodes(const Cluster& cluster) {
  std::map<int, std::vector<GpuOrder>> paths;  // by ranks on the node; nodes of one size are alike
  for (const int gpus : cluster.gpus_on_node) paths[gpus];
  // ranks take the GPUs in order, so what the smallest node uses all nodes can use
  const std::vector<int> nics = nics_near(cluster, paths.begin()->first);
  if (nics.empty()) throw Unreachable("gpu0 of " + cluster.platform.name + " cannot reach any NIC");
  for (auto& [gpus, found] : paths) found = paths_through(cluster, gpus, nics);

  std::vector<Channel> channels(nics.size());
  for (std::size_t k = 0; k < nics.size(); ++k) {
    channels[k].nic = nics[k];
    channels[k].order.reserve(static_cast<std::size_t>(cluster.ranks()));
    for (std::size_t node = 0; node < cluster.gpus_on_node.size(); ++node) {
      for (const int gpu : paths[cluster.gpus_on_node[node]][k]) {
        channels[k].order.push_back(Rank{cluster.first_rank[node] + gpu});
      }
    }
  }
  return channels;
}

/// Ranks of a node that NVLinks do not join must each reach the first; ways are symmetric, so then all reach
/// each other.
void check_reachable(const Cluster& cluster) {
  const int most = *std::ranges::max_element(cluster.gpus_on_node);
  if (is_connected(lane_graph(cluster.platform, most, [](const Link& link) { return link.lanes; }))) return;
  for (int gpu = 1; gpu < most; ++gpu) {
    if (!cluster.inside.gpu_to_gpu[0][static_cast<std::size_t>(gpu)].reachable) {
      const NodeGraph& graph = cluster.platform.node;
      throw Unreachable(graph[cluster.platform.gpus[static_cast<std::size_t>(gpu)]].name + " of " +
                        cluster.platform.name + " cannot be reached from " +
                        graph[cluster.platform.gpus[0]].name + ": no links lead from one to the other");
    }
  }
}

}  // namespace

std::vector<Channel> ring_channels(const Cluster& cluster, std::vector<std::string>* notes) {
  check_reachable(cluster);
  return cluster.nodes == 1 ? channels_of_one_node(cluster, notes) : channels_between_nodes(cluster);
}

}  // namespace trainyard
