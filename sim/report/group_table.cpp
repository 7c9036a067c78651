#include "report/group_table.hpp"

#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "report/page.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trainyard {

namespace {

using Cells = std::vector<std::string>;

/// Columns two blanks apart; numbers are right-aligned.
std::string aligned_columns(const std::vector<Cells>& rows, const std::vector<bool>& is_number) {
  std::vector<std::size_t> widths(is_number.size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += is_number[i] ? fmt::format("  {:>{}}", row[i], widths[i])
                           : fmt::format("  {:<{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

/// "a" for group 0, "b" for 1 and so on; after "z" the number: "26" for group 26. "-" for none.
std::string letter(int group) {
  constexpr int letters = 26;
  if (group < 0) return "-";
  return group < letters ? std::string(1, static_cast<char>('a' + group)) : std::to_string(group);
}

std::string node_table(const Cluster& cluster, const std::vector<GroupsOfKind>& kinds, const NodeKind& node) {
  const int first = cluster.first_rank[at(node.node)];
  const int ranks = cluster.gpus_on_node[at(node.node)];
  std::vector<Cells> rows{{"rank"}, {"socket"}};
  for (int i = 0; i < ranks; ++i) {
    rows[0].push_back(std::to_string(first + i));
    const int cpu = nearest_cpu(cluster.platform, cluster.gpu_of(Rank{first + i}));
    rows[1].push_back(cpu < 0 ? "-" : std::to_string(cpu));
  }
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (std::ranges::max(node.group_of[kind]) < 0) continue;
    Cells& row = rows.emplace_back(Cells{kinds[kind].name});
    for (const int group : node.group_of[kind])
      row.push_back(letter(group) + (node.leaves[kind] && group >= 0 ? ">" : ""));
  }
  std::vector<bool> is_number(static_cast<std::size_t>(ranks) + 1, true);
  is_number.front() = false;
  return aligned_columns(rows, is_number);
}

}  // namespace

std::string ranks_in_words(const std::vector<Rank>& ranks) {
  if (ranks.size() < 2) return ranks.empty() ? std::string() : std::to_string(index(ranks.front()));
  const int step = index(ranks[1]) - index(ranks[0]);
  bool is_even = true;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    is_even = is_even && index(ranks[i]) - index(ranks[i - 1]) == step;
  if (is_even && step == 1) return fmt::format("{}-{}", index(ranks.front()), index(ranks.back()));
  constexpr std::size_t most = 4;
  std::vector<int> listed;
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i) listed.push_back(index(ranks[i]));
  if (ranks.size() <= most) return fmt::format("{}", fmt::join(listed, ", "));
  listed.pop_back();
  return fmt::format("{} {} {}", fmt::join(listed, ", "), is_even ? "to" : "...", index(ranks.back()));
}

std::string place_in_words(const GroupsOfKind& kind) {
  if (kind.nodes == 1) {
    if (kind.sockets == 1) return "inside a socket";
    return kind.sockets > 1 ? fmt::format("inside a node, {} sockets", kind.sockets) : "inside a node";
  }
  return fmt::format("{} nodes", grouped(kind.nodes));
}

std::string group_table(const ResolvedExperiment& resolved, const std::vector<GroupsOfKind>& kinds) {
  const Cluster& cluster = *resolved.cluster;
  std::string text = fmt::format("{} on {}\n", count(cluster.ranks(), "GPU"), count(cluster.nodes, "node"));
  if (kinds.empty()) return text + "no group of ranks exchanges data\n";
  std::vector<Cells> rows{{"groups of", "number", "ranks", "the first", "where", "GB/s", "GB"}};
  constexpr double giga = 1e9;
  for (const GroupsOfKind& kind : kinds) {
    rows.push_back({kind.name, grouped(kind.groups), grouped(kind.size), ranks_in_words(kind.members.front()),
                    place_in_words(kind), fmt::format("{:.1f}", kind.rate.si() / giga),
                    fmt::format("{:.2f}", kind.bytes.si() / giga)});
  }
  text +=
      "\nGroups (GB/s: sent by a rank while all these groups of a stage send and nothing else does; GB: sent "
      "by a rank\nin a step)\n" +
      aligned_columns(rows, {false, true, true, false, false, true, true});
  rows = {{"groups of", "links", "kind", "used", "groups on one", "GB/s of one", "also used by"}};
  for (const GroupsOfKind& kind : kinds) {
    std::string name = kind.name;
    for (const GroupLinks& links : kind.links) {
      rows.push_back({name, links.name, links.medium, grouped(links.links),
                      links.groups > 0 ? std::to_string(links.groups) : "-",
                      fmt::format("{:.1f}", links.capacity.si() / giga),
                      fmt::format("{}", fmt::join(links.shared_with, ", "))});
      name.clear();
    }
  }
  text += "\nLinks (each direction counts)\n" +
          aligned_columns(rows, {false, false, false, true, true, true, false});
  for (const NodeKind& node : node_kinds(cluster, kinds)) {
    const std::string like = node.nodes == 1
                                 ? fmt::format("Node {}", node.node)
                                 : fmt::format("Node {}, and {} like it", node.node, grouped(node.nodes - 1));
    text += fmt::format("\n{} (one letter: one group; >: the group has ranks on other nodes too)\n", like) +
            node_table(cluster, kinds, node);
  }
  return text;
}

}  // namespace trainyard
