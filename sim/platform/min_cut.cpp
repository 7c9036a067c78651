#include "platform/min_cut.hpp"

#include <boost/graph/adjacency_list.hpp>
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

/// An edge with the empty reverse edge that push and relabel needs. Using both directions of a link as each
/// other's reverse would save half of the edges, but Boost's second phase does not support it.
void add(FlowGraph& flow, const FlowEdge& edge) {
  const auto forward = add_edge(edge.from, edge.to, flow).first;
  const auto backward = add_edge(edge.to, edge.from, flow).first;
  put(boost::edge_capacity, flow, forward, edge.capacity);
  put(boost::edge_capacity, flow, backward, 0);
  put(boost::edge_reverse, flow, forward, backward);
  put(boost::edge_reverse, flow, backward, forward);
}

}  // namespace

long long maximum_flow(std::size_t vertices, std::span<const FlowEdge> edges, std::size_t from,
                       std::size_t to) {
  FlowGraph flow(vertices);
  for (const FlowEdge& edge : edges) add(flow, edge);
  return boost::push_relabel_max_flow(flow, from, to);
}

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
