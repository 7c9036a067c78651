#include "collectives/group_kinds.hpp"

#include <map>
#include <utility>

namespace trainyard {

namespace {

/// Numbers of the ranks' GPUs in their nodes, with `other_node` wherever the node changes.
std::vector<int> layout_of(const Cluster& cluster, const std::vector<Rank>& group) {
  constexpr int other_node = -1;
  std::vector<int> layout;
  layout.reserve(2 * group.size());
  int node = -1;
  int first = 0;
  int end = 0;
  for (const Rank rank : group) {
    if (index(rank) < first || index(rank) >= end) {
      node = index(cluster.node_of(rank));
      first = cluster.first_rank[at(node)];
      end = cluster.first_rank[at(node) + 1];
      layout.push_back(other_node);
    }
    layout.push_back(index(rank) - first);
  }
  return layout;
}

}  // namespace

std::vector<RankGroups> group_kinds(const Cluster& cluster, RankGroups groups) {
  std::vector<RankGroups> kinds;
  std::map<std::vector<int>, std::size_t> kind_of_layout;
  for (std::vector<Rank>& group : groups) {
    const auto [found, is_new] = kind_of_layout.emplace(layout_of(cluster, group), kinds.size());
    if (is_new) kinds.emplace_back();
    kinds[found->second].push_back(std::move(group));
  }
  return kinds;
}

}  // namespace trainyard
