#pragma once
// Bytes that collectives put on each link.

#include "schedule/task_graph.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// Adds the bytes on each link of a pattern (or a part of one) whose every edge carried `bytes`.
inline void add_link_bytes(Bytes bytes, std::span<const LinkUse> uses, std::vector<double>& bytes_by_link) {
  for (const LinkUse& use : uses) bytes_by_link[index(use.link)] += bytes.si() * use.times;
}

}  // namespace trainyard::engine
