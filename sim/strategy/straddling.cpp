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

int nodes_for(int ranks, int per_node) { return (ranks + per_node - 1) / per_node; }

/// The groups of an axis that are on more nodes than they need to be.
int straddling(const RankGroups& groups, int per_node) {
  int number = 0;
  for (const std::vector<Rank>& group : groups)
    number += nodes_of(group, per_node) > nodes_for(static_cast<int>(group.size()), per_node) ? 1 : 0;
  return number;
}

/// Groups that straddle nodes, and a number of ranks per node that keeps them whole.
struct Straddling {
  std::vector<std::string> words;  ///< of each axis
  int per_node = 0;
};

std::optional<Straddling> straddling_groups(const Grid& grid, int ranks_per_node) {
  if (rank_count(grid) <= ranks_per_node) return std::nullopt;
  std::vector<RankGroups> whole;
  std::vector<RankGroups> split;
  Straddling found;
  for (const auto& axis : parallel_axes) {
    if (axis.traits.members != Members::layers) continue;
    RankGroups all_groups = groups(grid, axis.value);
    const std::size_t size = all_groups.begin() == all_groups.end() ? 0 : (*all_groups.begin()).size();
    if (size < 2 || size > static_cast<std::size_t>(ranks_per_node)) continue;  // no node holds a larger one
    const int number = straddling(all_groups, ranks_per_node);
    if (number > 0)
      found.words.push_back(
          fmt::format("{} of {} {} groups of {} ranks", number, all_groups.size(), axis.text, size));
    (number > 0 ? split : whole).push_back(std::move(all_groups));
  }
  // The innermost axes first: a number of ranks that keeps the groups of one axis whole may split the next.
  for (; !split.empty(); split.pop_back(), found.words.pop_back()) {
    const auto keeps = [](const std::vector<RankGroups>& all, int per_node) {
      return std::ranges::all_of(all, [&](const RankGroups& groups_of_axis) {
        return (*groups_of_axis.begin()).size() <= static_cast<std::size_t>(per_node) &&
               straddling(groups_of_axis, per_node) == 0;
      });
    };
    const int ranks = rank_count(grid);
    const auto is_better = [&](int per_node) { return keeps(split, per_node) && keeps(whole, per_node); };
    int most = ranks_per_node - 1;
    while (most > 1 && !is_better(most)) --most;
    if (most <= 1) continue;
    // Of as few nodes as possible, the last is the fullest that it can be.
    found.per_node = most;
    const int nodes = nodes_for(ranks, most);
    for (int fewer = most - 1; fewer > 1 && nodes_for(ranks, fewer) == nodes; --fewer) {
      if (is_better(fewer)) found.per_node = fewer;
    }
    return found;
  }
  return std::nullopt;  // their order spreads them over any nodes
}

}  // namespace

std::optional<int> ranks_per_node_of_whole_groups(const Grid& grid, int ranks_per_node) {
  const std::optional<Straddling> found = straddling_groups(grid, ranks_per_node);
  return found ? std::optional(found->per_node) : std::nullopt;
}

std::string straddling_in_words(const Grid& grid, int ranks_per_node) {
  const std::optional<Straddling> found = straddling_groups(grid, ranks_per_node);
  return found ? fmt::format("{}", fmt::join(found->words, " and ")) : std::string();
}

std::optional<Diagnostic> straddling_warning(const Grid& grid, int ranks_per_node) {
  const std::optional<Straddling> found = straddling_groups(grid, ranks_per_node);
  if (!found) return std::nullopt;
  Diagnostic warning;
  warning.key_path = "gpus_per_node";
  warning.severity = Severity::warning;
  warning.message = fmt::format("{} straddle nodes of {} ranks: their transfers leave the node",
                                fmt::join(found->words, " and "), ranks_per_node);
  const int ranks = rank_count(grid);
  const std::string in_all = ranks % found->per_node == 0 ? std::string() : fmt::format("--gpus {} ", ranks);
  warning.hint = fmt::format("--set gpus_per_node={} {}--nodes {} keeps them whole", found->per_node, in_all,
                             nodes_for(ranks, found->per_node));
  return warning;
}

}  // namespace trainyard
