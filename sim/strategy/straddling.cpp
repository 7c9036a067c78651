#include "strategy/straddling.hpp"

#include "collectives/axis.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

/// Axes whose groups communicate in every layer.
constexpr std::array axes_of_layers{Axis::tensor, Axis::context, Axis::expert};

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
  std::vector<RankGroups> all;
  std::vector<std::string> words;
  for (const Axis axis : axes_of_layers) {
    RankGroups its = groups(grid, axis);
    if (its.begin() == its.end() || (*its.begin()).size() < 2) continue;
    if (static_cast<int>((*its.begin()).size()) > ranks_per_node) continue;  // it needs several nodes anyway
    if (const int number = straddling(its, ranks_per_node); number > 0)
      words.push_back(fmt::format("{} of {} {} groups of {} ranks", number, its.size(), config::name_of(axis),
                                  (*its.begin()).size()));
    all.push_back(std::move(its));
  }
  if (words.empty()) return std::nullopt;
  const auto keeps_all = [&](int per_node) {
    return std::ranges::all_of(all, [&](const RankGroups& its) {
      return static_cast<int>((*its.begin()).size()) <= per_node && straddling(its, per_node) == 0;
    });
  };
  int per_node = ranks_per_node - 1;
  while (per_node > 1 && !keeps_all(per_node)) --per_node;
  if (per_node <= 1) return std::nullopt;  // their order spreads them, whatever a node holds
  Diagnostic warning;
  warning.key_path = "gpus_per_node";
  warning.severity = Severity::warning;
  warning.message = fmt::format("{} straddle nodes of {} ranks: their transfers leave the node",
                                fmt::join(words, " and "), ranks_per_node);
  warning.hint = fmt::format("--set gpus_per_node={} --nodes {} keeps them whole", per_node,
                             (rank_count(grid) + per_node - 1) / per_node);
  return warning;
}

}  // namespace trainyard
