#include "strategy/straddling.hpp"

#include "collectives/axis.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

/// The nodes that hold an ascending group, and the fewest that could.
int nodes_of(const std::vector<Rank>& group, int per_node) {
  int nodes = 0;
  int last = -1;
  for (const Rank rank : group) {
    const int node = index(rank) / per_node;
    if (node != last) ++nodes;
    last = node;
  }
  return nodes;
}

int fewest_nodes(std::size_t ranks, int per_node) {
  return (static_cast<int>(ranks) + per_node - 1) / per_node;
}

/// The groups of an axis that are on more nodes than they need to be.
int straddling(const RankGroups& groups, int per_node) {
  int number = 0;
  for (const std::vector<Rank>& group : groups)
    number += nodes_of(group, per_node) > fewest_nodes(group.size(), per_node) ? 1 : 0;
  return number;
}

}  // namespace

std::optional<Diagnostic> straddling_warning(const Grid& grid, int ranks_per_node) {
  if (rank_count(grid) <= ranks_per_node) return std::nullopt;
  std::vector<RankGroups> whole;
  std::vector<RankGroups> split;
  std::vector<std::string> words;  // of the split ones
  for (const auto& axis : parallel_axes) {
    if (axis.traits.members != Members::layers) continue;
    RankGroups all_groups = groups(grid, axis.value);
    const std::size_t size = all_groups.begin() == all_groups.end() ? 0 : (*all_groups.begin()).size();
    if (size < 2 || size > static_cast<std::size_t>(ranks_per_node)) continue;  // no node holds a larger one
    const int number = straddling(all_groups, ranks_per_node);
    if (number > 0)
      words.push_back(
          fmt::format("{} of {} {} groups of {} ranks", number, all_groups.size(), axis.text, size));
    (number > 0 ? split : whole).push_back(std::move(all_groups));
  }
  // The innermost axes first: a number of ranks that keeps the groups of one axis whole may split the next.
  for (; !split.empty(); split.pop_back(), words.pop_back()) {
    const auto keeps = [](const std::vector<RankGroups>& all, int per_node) {
      return std::ranges::all_of(all, [&](const RankGroups& groups_of_axis) {
        return (*groups_of_axis.begin()).size() <= static_cast<std::size_t>(per_node) &&
               straddling(groups_of_axis, per_node) == 0;
      });
    };
    // A divisor of the number of ranks, so that the job keeps it.
    const int ranks = rank_count(grid);
    const auto is_better = [&](int per_node) {
      return ranks % per_node == 0 && keeps(split, per_node) && keeps(whole, per_node);
    };
    int per_node = ranks_per_node - 1;
    while (per_node > 1 && !is_better(per_node)) --per_node;
    if (per_node <= 1) continue;
    Diagnostic warning;
    warning.key_path = "gpus_per_node";
    warning.severity = Severity::warning;
    warning.message = fmt::format("{} straddle nodes of {} ranks: their transfers leave the node",
                                  fmt::join(words, " and "), ranks_per_node);
    warning.hint =
        fmt::format("--set gpus_per_node={} --nodes {} keeps them whole", per_node, ranks / per_node);
    return warning;
  }
  return std::nullopt;  // their order spreads them over any nodes
}

}  // namespace trainyard
