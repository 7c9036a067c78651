#pragma once
// Cuts of a node, by maximum flow: the highest bandwidth between two halves is an upper limit for every
// collective across them.

#include "platform/platform.hpp"

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

enum class Rate { specified, effective };

/// Bandwidth per direction of the minimum cut between the first half of the GPUs in rank order (rounded down)
/// and the others, over NVLinks alone or over all links of one node; 0 for fewer than two GPUs. By max-flow
/// (push and relabel) in whole bytes per second.
Bandwidth minimum_cut(const Platform& platform, Rate rate, bool nvlink_alone);

}  // namespace trainyard
