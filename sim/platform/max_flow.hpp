#pragma once
// Maximum flow between two vertices of a small network, for cuts of a node.

#include <cstddef>
#include <span>

namespace trainyard {

/// One direction of a link.
struct FlowEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  long long capacity = 0;
};

/// The maximum flow from one vertex to another, equal to the capacity of the smallest cut between them
/// (Boost's push and relabel). Vertices are numbered from 0 to `vertices`.
long long maximum_flow(std::size_t vertices, std::span<const FlowEdge> edges, std::size_t from,
                       std::size_t to);

}  // namespace trainyard
