#include "platform/host_staging.hpp"

#include <utility>

namespace trainyard {

namespace {

bool is_between_gpus(const NodeGraph& graph, EdgeId edge) {
  const auto is_gpu_side = [&](DeviceId device) {
    return graph[device].kind == DeviceKind::gpu || graph[device].kind == DeviceKind::nvswitch;
  };
  return is_gpu_side(source(edge, graph)) && is_gpu_side(target(edge, graph));
}

}  // namespace

Platform staged_through_host(Platform platform) {
  // Copied link by link, since the order of the remaining links gives their numbers.
  NodeGraph kept;
  for (DeviceId device = 0; device < num_vertices(platform.node); ++device)
    add_vertex(platform.node[device], kept);
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    if (is_between_gpus(platform.node, *edge)) continue;
    add_edge(source(*edge, platform.node), target(*edge, platform.node), platform.node[*edge], kept);
  }
  platform.node = kept;
  platform.has_peer_to_peer = false;
  return platform;
}

bool has_gpu_links(const Platform& platform) {
  if (platform.has_peer_to_peer) return true;
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    if (is_between_gpus(platform.node, *edge)) return true;
  }
  return false;
}

}  // namespace trainyard
