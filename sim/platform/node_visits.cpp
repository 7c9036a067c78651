#include "platform/node_visits.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

const NodePath& way_to_nic(const Cluster& cluster, int gpu, int nic) {
  return cluster.inside.gpu_to_nic[at(gpu)][at(nic)];
}

/// For each NIC the GPUs that reach it, nearest first; among equally near ones, first those where fewer rings
/// of earlier NICs enter.
std::vector<GpuOrder> gpus_by_nearness(const Cluster& cluster, std::span<const int> gpus,
                                       const std::vector<int>& nics) {
  std::vector<int> entries(cluster.platform.gpus.size(), 0);
  std::vector<GpuOrder> orders;
  for (const int nic : nics) {
    GpuOrder order(gpus.begin(), gpus.end());
    std::erase_if(order, [&](int gpu) { return !way_to_nic(cluster, gpu, nic).reachable; });
    std::ranges::stable_sort(order, {}, [&](int gpu) {
      return std::pair(way_to_nic(cluster, gpu, nic).distance, entries[at(gpu)]);
    });
    ++entries[at(order.front())];
    orders.push_back(order);
  }
  return orders;
}

int position_of(std::span<const int> gpus, int gpu) {
  return static_cast<int>(std::ranges::find(gpus, gpu) - gpus.begin());
}

/// Entry and exit of a NIC's ring, as positions in `gpus`: the two nearest GPUs for which NVLinks allow a
/// path through all.
std::optional<PathEnds> path_ends(const LaneGraph& lanes, std::span<const int> gpus, const GpuOrder& near) {
  const int first = position_of(gpus, near.front());
  if (gpus.size() == 1) return PathEnds{first, first};
  for (std::size_t last = 1; last < near.size(); ++last) {
    const PathEnds ends{first, position_of(gpus, near[last])};
    if (find_paths(lanes, std::span(&ends, 1))) return ends;
  }
  return std::nullopt;
}

/// Over NVLinks only; empty if they do not join all the GPUs.
std::optional<std::vector<GpuOrder>> visits_over_nvlink(const Cluster& cluster, std::span<const int> gpus,
                                                        const std::vector<GpuOrder>& orders) {
  const LaneGraph lanes = gpu_lanes(cluster.platform, gpus);
  if (!is_connected(lanes)) return std::nullopt;
  std::vector<PathEnds> ends;
  for (const GpuOrder& near : orders) {
    const auto found = path_ends(lanes, gpus, near);
    if (!found) return std::nullopt;
    ends.push_back(*found);
  }
  auto paths = least_loaded_paths(lanes, ends);
  if (!paths) return std::nullopt;
  for (GpuOrder& path : *paths) {
    for (int& gpu : path) gpu = gpus[at(gpu)];
  }
  return paths;
}

/// Over any links: the exit is the GPU where the order that keeps neighbours together ends if the NIC is as
/// near to it as to the second nearest, otherwise the second nearest.
GpuOrder visit_over_pcie(const Cluster& cluster, std::span<const int> gpus, const GpuOrder& near, int nic) {
  std::vector<int> left(gpus.begin(), gpus.end());
  std::erase(left, near.front());
  GpuOrder order = continued_nearest_first(cluster, {near.front()}, left);
  if (near.size() < 2) return order;
  const NodePath& out = way_to_nic(cluster, order.back(), nic);
  if (out.reachable && out.distance == way_to_nic(cluster, near[1], nic).distance) return order;
  std::erase(left, near[1]);
  order = continued_nearest_first(cluster, {near.front()}, std::move(left));
  order.push_back(near[1]);
  return order;
}

}  // namespace

std::vector<int> nics_near(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<int> found;
  for (int nic = 0; nic < static_cast<int>(cluster.platform.nics.size()); ++nic) {
    const bool is_near = std::ranges::any_of(gpus, [&](int gpu) {
      const int nearest = cluster.inside.nearest_nic[at(gpu)];
      if (nearest < 0) return false;
      const NodePath& path = way_to_nic(cluster, gpu, nic);
      return path.reachable && path.distance == way_to_nic(cluster, gpu, nearest).distance;
    });
    if (is_near) found.push_back(nic);
  }
  return found;
}

std::vector<int> nearest_nics(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<int> found;
  for (const int gpu : gpus) {
    const int nic = cluster.inside.nearest_nic[at(gpu)];
    if (nic >= 0 && std::ranges::find(found, nic) == found.end()) found.push_back(nic);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<GpuOrder> node_visits(const Cluster& cluster, std::span<const int> gpus,
                                  const std::vector<int>& nics) {
  const std::vector<GpuOrder> orders = gpus_by_nearness(cluster, gpus, nics);
  if (auto paths = visits_over_nvlink(cluster, gpus, orders)) return *std::move(paths);
  std::vector<GpuOrder> paths;
  for (std::size_t k = 0; k < orders.size(); ++k)
    paths.push_back(visit_over_pcie(cluster, gpus, orders[k], nics[k]));
  return paths;
}

std::vector<GpuOrder> rccl_visits(const Cluster& cluster, std::span<const int> gpus) {
  const auto count = static_cast<int>(gpus.size());
  if (count < 2 || count % 2 != 0) return {};
  const LaneGraph lanes = gpu_lanes(cluster.platform, gpus);
  std::vector<int> nics;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < count; ++k) {
      const bool are_joined =
          lanes.direct[at(i)][at(k)] == lanes.direct[0][1] &&
          cluster.inside.gpu_to_gpu[at(gpus[at(i)])][at(gpus[at(k)])].type == PathType::xgmi;
      if (i != k && !are_joined) return {};
    }
    const int nic = cluster.inside.nearest_nic[at(gpus[at(i)])];
    if (nic < 0 || std::ranges::find(nics, nic) != nics.end()) return {};
    if (way_to_nic(cluster, gpus[at(i)], nic).type > PathType::pxb) return {};
    nics.push_back(nic);
  }
  if (lanes.direct[0][1] == 0) return {};
  std::vector<GpuOrder> visits(gpus.size());
  for (int i = 0; i < count; ++i) {
    for (int place = 0; place < count; ++place) {
      const int away = place % 2 == 1 ? (place + 1) / 2 : count - place / 2;
      visits[at(i)].push_back(gpus[at((i + away) % count)]);
    }
  }
  return visits;
}

GpuOrder continued_nearest_first(const Cluster& cluster, GpuOrder order, std::vector<int> left) {
  while (!left.empty()) {
    const auto& from = cluster.inside.gpu_to_gpu[at(order.back())];
    const auto nearest = std::ranges::min_element(left, {}, [&](int gpu) { return from[at(gpu)].distance; });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

LaneGraph gpu_lanes(const Platform& platform, std::span<const int> gpus) {
  const NodeGraph& graph = platform.node;
  const std::size_t count = gpus.size();
  LaneGraph lanes{static_cast<int>(count), std::vector(count, std::vector<int>(count, 0)), {}};
  std::vector<int> position(num_vertices(graph), -1);
  for (std::size_t i = 0; i < count; ++i) position[platform.gpus[at(gpus[i])]] = static_cast<int>(i);
  std::vector<int> switch_number(num_vertices(graph), -1);
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind != DeviceKind::nvswitch) continue;
    switch_number[device] = static_cast<int>(lanes.ports.size());
    lanes.ports.emplace_back(count, 0);
  }

  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    const Link& link = graph[*edge];
    // between GPUs, Infinity Fabric (xGMI) counts as NVLink; between sockets it joins no GPUs
    if (!is_nvlink(link.kind) && link.kind != LinkKind::infinity_fabric) continue;
    DeviceId one = source(*edge, graph);
    DeviceId other = target(*edge, graph);
    if (position[one] < 0) std::swap(one, other);
    if (position[one] < 0) continue;
    const std::size_t gpu = at(position[one]);
    if (switch_number[other] >= 0) {
      lanes.ports[at(switch_number[other])][gpu] += link.lanes;
    } else if (position[other] >= 0) {
      const std::size_t peer = at(position[other]);
      lanes.direct[gpu][peer] += link.lanes;
      lanes.direct[peer][gpu] += link.lanes;
    }
  }
  return lanes;
}

}  // namespace trainyard
