#include "report/group_table.hpp"

#include "document/page.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace trainyard {

namespace {

using Cells = std::vector<std::string>;

/// "a" for group 0, "b" for 1 and so on; after "z" the number: "26" for group 26. "-" for none.
std::string letter(int group) {
  constexpr int letters = 26;
  if (group < 0) return "-";
  return group < letters ? std::string(1, static_cast<char>('a' + group)) : std::to_string(group);
}

std::string node_table(const Cluster& cluster, const std::vector<GroupsOfKind>& kinds, const NodeKind& node,
                       const PrintStyle& style) {
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
  std::vector<TableColumn> layout(static_cast<std::size_t>(ranks) + 1, number_column());
  layout.front() = text_column();
  Table table(std::move(layout), {.indent = 2, .gap = 2, .goes_on_below = true});
  for (Cells& row : rows) table.add(std::move(row));
  return table.text(style.width);
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

std::string group_table(const ResolvedExperiment& resolved, const std::vector<GroupsOfKind>& kinds,
                        const PrintStyle& style) {
  const Cluster& cluster = *resolved.cluster;
  std::string text = fmt::format("{} on {}\n", count(cluster.ranks(), "GPU"), count(cluster.nodes, "node"));
  if (kinds.empty()) return text + "no group of ranks exchanges data\n";
  Table groups({text_column(), number_column(), number_column(), text_column().wraps(10).drops(1),
                text_column().wraps(12), number_column(), number_column()},
               {.indent = 2, .gap = 2});
  groups.row("groups of", "number", "ranks", "the first", "where", "GB/s", "GB");
  constexpr double giga = 1e9;
  for (const GroupsOfKind& kind : kinds) {
    groups.row(kind.name, grouped(kind.groups), grouped(kind.size), ranks_in_words(kind.members.front()),
               place_in_words(kind), fmt::format("{:.1f}", kind.rate.si() / giga),
               fmt::format("{:.2f}", kind.bytes.si() / giga));
  }
  text += '\n' +
          fitted_lines(
              "Groups (GB/s: sent by a rank while all these groups of a stage send and nothing else "
              "does; GB: sent by a rank in a step)\n",
              style.width) +
          groups.text(style.width);
  Table links_of({text_column().wraps(10), text_column(), text_column().drops(3), number_column().drops(2),
                  number_column().drops(1), number_column(), text_column().wraps(10)},
                 {.indent = 2, .gap = 2});
  links_of.row("groups of", "links", "kind", "used", "groups on one", "GB/s of one", "also used by");
  for (const GroupsOfKind& kind : kinds) {
    std::string name = kind.name;
    for (const GroupLinks& links : kind.links) {
      links_of.row(name, links.name, links.medium, grouped(links.links),
                   links.groups > 0 ? std::to_string(links.groups) : "-",
                   fmt::format("{:.1f}", links.capacity.si() / giga),
                   fmt::format("{}", fmt::join(links.shared_with, ", ")));
      name.clear();
    }
  }
  text += "\nLinks (each direction counts)\n" + links_of.text(style.width);
  for (const NodeKind& node : node_kinds(cluster, kinds)) {
    const std::string like = node.nodes == 1
                                 ? fmt::format("Node {}", node.node)
                                 : fmt::format("Node {}, and {} like it", node.node, grouped(node.nodes - 1));
    text += '\n' +
            fitted_lines(
                fmt::format("{} (one letter: one group; >: the group has ranks on other nodes too)\n", like),
                style.width) +
            node_table(cluster, kinds, node, style);
  }
  return text;
}

}  // namespace trainyard
