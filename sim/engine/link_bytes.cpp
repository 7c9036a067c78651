#include "engine/link_bytes.hpp"

namespace trainyard::engine {

std::vector<std::vector<LinkUse>> uses_of_patterns(const TaskGraph& graph) {
  std::vector<std::vector<LinkUse>> uses;
  for (const Pattern& pattern : graph.patterns) uses.push_back(link_uses(pattern));
  return uses;
}

void add_link_bytes(Bytes bytes, std::span<const LinkUse> uses, std::vector<double>& bytes_by_link) {
  for (const LinkUse& use : uses) bytes_by_link[index(use.link)] += bytes.si() * use.times;
}

}  // namespace trainyard::engine
