#include "engine/link_bytes.hpp"

namespace trainyard::engine {

std::vector<std::vector<LinkUse>> uses_of_patterns(const TaskGraph& graph) {
  std::vector<std::vector<LinkUse>> uses;
  for (const Pattern& pattern : graph.patterns) uses.push_back(link_uses(pattern));
  return uses;
}

void add_link_bytes(const Collective& collective, std::span<const std::vector<LinkUse>> uses,
                    std::vector<double>& bytes_by_link) {
  const double bytes = collective.bytes.si() * collective.rounds;
  for (const LinkUse& use : uses[static_cast<std::size_t>(collective.pattern)]) {
    bytes_by_link[index(use.link)] += bytes * use.times;
  }
}

}  // namespace trainyard::engine
