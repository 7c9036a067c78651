#pragma once
// Bytes that collectives put on each link.

#include "schedule/task_graph.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// Adds the bytes on each link of a pattern (or a part of one) whose every edge carried `bytes`.
void add_link_bytes(Bytes bytes, std::span<const LinkUse> uses, std::vector<double>& bytes_by_link);

}  // namespace trainyard::engine
