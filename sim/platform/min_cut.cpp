#include "platform/min_cut.hpp"

#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, long long,
                    boost::property<boost::edge_residual_capacity_t, long long,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

/// One direction of a link, with the empty reverse that push and relabel wants. Giving both directions of a
/// link as each other's reverse would save half of the edges, and Boost's second phase does not support it.
void add_direction(FlowGraph& flow, std::size_t from, std::size_t to, long long bytes_per_second) {
  const auto forward = add_edge(from, to, flow).first;
  const auto backward = add_edge(to, from, flow).first;
  put(boost::edge_capacity, flow, forward, bytes_per_second);
  put(boost::edge_capacity, flow, backward, 0);
  put(boost::edge_reverse, flow, forward, backward);
  put(boost::edge_reverse, flow, backward, forward);
}

}  // namespace

Bandwidth minimum_cut(const Platform& platform, Rate rate, bool nvlink_alone) {
  const std::size_t gpus = platform.gpus.size();
  if (gpus < 2) return {};
  const NodeGraph& graph = platform.node;
  const std::size_t first_half = num_vertices(graph);
  const std::size_t second_half = first_half + 1;
  FlowGraph flow(first_half + 2);
  // what a GPU can send or take at all: no more can start or end there
  std::vector<long long> rate_of(num_vertices(graph), 0);
  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    const Link& link = graph[*edge];
    if (nvlink_alone && !is_nvlink(link.kind)) continue;
    const Bandwidth bandwidth = rate == Rate::specified ? link.bandwidth.value : link.effective.value;
    const long long bytes_per_second = std::llround(bandwidth.si());
    add_direction(flow, source(*edge, graph), target(*edge, graph), bytes_per_second);
    add_direction(flow, target(*edge, graph), source(*edge, graph), bytes_per_second);
    rate_of[source(*edge, graph)] += bytes_per_second;
    rate_of[target(*edge, graph)] += bytes_per_second;
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const DeviceId device = platform.gpus[gpu];
    if (gpu < gpus / 2) {
      add_direction(flow, first_half, device, rate_of[device]);
    } else {
      add_direction(flow, device, second_half, rate_of[device]);
    }
  }
  return Bandwidth(static_cast<double>(boost::push_relabel_max_flow(flow, first_half, second_half)));
}

}  // namespace trainyard
