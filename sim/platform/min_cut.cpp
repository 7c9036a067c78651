#include "platform/min_cut.hpp"

#include "platform/max_flow.hpp"

#include <cmath>
#include <vector>

namespace trainyard {
Bandwidth minimum_cut(const Platform& platform, Rate rate, bool nvlink_alone) {
  const std::size_t gpus = platform.gpus.size();
  if (gpus < 2) return {};
  const NodeGraph& graph = platform.node;
  const std::size_t first_half = num_vertices(graph);
  const std::size_t second_half = first_half + 1;
  std::vector<FlowEdge> flow;
  // total rate of each GPU: an upper limit on the flow that starts or ends there
  std::vector<long long> rate_of(num_vertices(graph), 0);
  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    const Link& link = graph[*edge];
    if (nvlink_alone && !is_nvlink(link.kind)) continue;
    const Bandwidth bandwidth = rate == Rate::specified ? link.bandwidth.value : link.effective.value;
    const long long bytes_per_second = std::llround(bandwidth.si());
    flow.push_back({source(*edge, graph), target(*edge, graph), bytes_per_second});
    flow.push_back({target(*edge, graph), source(*edge, graph), bytes_per_second});
    rate_of[source(*edge, graph)] += bytes_per_second;
    rate_of[target(*edge, graph)] += bytes_per_second;
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const DeviceId device = platform.gpus[gpu];
    if (gpu < gpus / 2) {
      flow.push_back({first_half, device, rate_of[device]});
    } else {
      flow.push_back({device, second_half, rate_of[device]});
    }
  }
  return Bandwidth(static_cast<double>(maximum_flow(first_half + 2, flow, first_half, second_half)));
}

}  // namespace trainyard
