#include "engine/edge_groups.hpp"

#include "engine/messages.hpp"

#include <algorithm>

namespace trainyard::engine {

namespace {

/// The level of each edge, from 0.
std::vector<int> levels_of(const Pattern& pattern) {
  const EdgeLists next = passing_on(pattern);
  std::vector<int> level(pattern.edges.size(), 0);
  std::vector<std::size_t> waits_for;
  std::vector<int> reached;
  for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
    waits_for.push_back(pattern.passed_on_by(edge).size());
    if (waits_for.back() == 0) reached.push_back(static_cast<int>(edge));
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const int edge = reached[i];
    for (const int later : next.of(edge)) {
      level[at(later)] = std::max(level[at(later)], level[at(edge)] + 1);
      if (--waits_for[at(later)] == 0) reached.push_back(later);
    }
  }
  return level;
}

}  // namespace

std::vector<EdgeGroup> edge_groups(const Pattern& pattern, int most) {
  if (pattern.edges.empty()) return {{.levels = 0, .uses = link_uses(pattern)}};
  const std::vector<int> level = levels_of(pattern);
  const int depth = 1 + *std::max_element(level.begin(), level.end());
  const int count = std::min(most, depth);
  const auto group_of = [&](int of_level) {
    return static_cast<int>(static_cast<std::int64_t>(of_level) * count / depth);
  };
  std::vector<std::pair<int, int>> members;
  for (std::size_t edge = 0; edge < level.size(); ++edge)
    members.emplace_back(group_of(level[edge]), static_cast<int>(edge));
  const EdgeLists edges(at(count), members);

  std::vector<EdgeGroup> groups(at(count));
  for (int one = 0; one < depth; ++one) ++groups[at(group_of(one))].levels;
  std::vector<int> times;
  for (int group = 0; group < count; ++group) {
    std::vector<LinkId> touched;
    for (const int edge : edges.of(group)) {
      for (const LinkId link : pattern.route(at(edge))) {
        if (index(link) >= times.size()) times.resize(index(link) + 1, 0);
        if (times[index(link)]++ == 0) touched.push_back(link);
      }
    }
    std::sort(touched.begin(), touched.end());
    for (const LinkId link : touched) {
      groups[at(group)].uses.push_back({link, times[index(link)]});
      times[index(link)] = 0;
    }
  }
  return groups;
}

}  // namespace trainyard::engine
