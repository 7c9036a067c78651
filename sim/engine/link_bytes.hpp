#pragma once
// Bytes that collectives put on each link.

#include "schedule/task_graph.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// link_uses() of every pattern of the graph.
std::vector<std::vector<LinkUse>> uses_of_patterns(const TaskGraph& graph);

/// Adds what a pattern whose every edge carried `bytes` has put on each link.
void add_link_bytes(Bytes bytes, std::span<const LinkUse> uses, std::vector<double>& bytes_by_link);

}  // namespace trainyard::engine
