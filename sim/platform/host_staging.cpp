#include "platform/host_staging.hpp"

#include <algorithm>
#include <boost/range/iterator_range.hpp>

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
  // keeps the order of the remaining links, which gives their numbers
  boost::remove_edge_if([&](EdgeId edge) { return is_between_gpus(platform.node, edge); }, platform.node);
  platform.has_peer_to_peer = false;
  return platform;
}

bool has_gpu_links(const Platform& platform) {
  const auto links = boost::make_iterator_range(edges(platform.node));
  return platform.has_peer_to_peer || std::any_of(links.begin(), links.end(), [&](EdgeId edge) {
           return is_between_gpus(platform.node, edge);
         });
}

}  // namespace trainyard
