#include "platform/max_flow.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

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

}  // namespace trainyard
