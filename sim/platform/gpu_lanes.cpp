#include "platform/gpu_lanes.hpp"

#include "units/ids.hpp"

#include <utility>

namespace trainyard {

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
    if (!is_nvlink(link.kind)) continue;
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
