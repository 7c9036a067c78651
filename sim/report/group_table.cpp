#include "report/group_table.hpp"

#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace trainyard {

namespace {

/// "a" for group 0, "b" for 1 and so on; after "z" the number: "26" for group 26. "-" for none.
std::string letter(int group) {
  constexpr int letters = 26;
  if (group < 0) return "-";
  return group < letters ? std::string(1, static_cast<char>('a' + group)) : std::to_string(group);
}

doc::Table node_table(const Cluster& cluster, const std::vector<GroupsOfKind>& kinds, const NodeKind& node) {
  const int first = cluster.first_rank[at(node.node)];
  const int ranks = cluster.gpus_on_node[at(node.node)];
  doc::Table table{.key = "node",
                   .title = "groups of the ranks of a node",
                   .columns = {{.head = "rank"}},
                   .rows = {{.cells = {"socket"}}},
                   .shape = {.indent = 2, .gap = 2, .goes_on_below = true}};
  for (int i = 0; i < ranks; ++i) {
    table.columns.push_back({.head = std::to_string(first + i), .layout = number_column()});
    const int cpu = nearest_cpu(cluster.platform, cluster.gpu_of(Rank{first + i}));
    table.rows.front().cells.emplace_back(cpu < 0 ? "-" : std::to_string(cpu));
  }
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (std::ranges::max(node.group_of[kind]) < 0) continue;
    doc::Row row{.cells = {kinds[kind].name}};
    for (const int group : node.group_of[kind])
      row.cells.emplace_back(letter(group) + (node.leaves[kind] && group >= 0 ? ">" : ""));
    table.rows.push_back(std::move(row));
  }
  return table;
}

doc::Value giga(double si, int decimals) {
  return doc::Value(fmt::format("{:.{}f}", si / 1e9, decimals), si);
}

doc::Table groups_table(const std::vector<GroupsOfKind>& kinds) {
  doc::Table table{.key = "groups",
                   .title = "groups",
                   .columns = {{.head = "groups of"},
                               {.head = "number", .layout = number_column()},
                               {.head = "ranks", .layout = number_column()},
                               {.head = "the first", .layout = text_column().wraps(10).drops(1)},
                               {.head = "where", .layout = text_column().wraps(12)},
                               {.head = "GB/s", .layout = number_column()},
                               {.head = "GB", .layout = number_column()}}};
  for (const GroupsOfKind& kind : kinds)
    table.rows.push_back(
        {.cells = {kind.name, grouped(kind.groups), grouped(kind.size), ranks_in_words(kind.members.front()),
                   place_in_words(kind), giga(kind.rate.si(), 1), giga(kind.bytes.si(), 2)}});
  return table;
}

}  // namespace

doc::Table group_links_table(const std::vector<GroupsOfKind>& kinds) {
  doc::Table table{.key = "links",
                   .title = "links of the groups",
                   .columns = {{.head = "groups of", .layout = text_column().wraps(10)},
                               doc::texts("the first", {}, doc::Shown::pages),
                               {.head = "links"},
                               {.head = "kind", .layout = text_column().drops(3)},
                               {.head = "used", .layout = number_column().drops(2)},
                               {.head = "groups on one", .layout = number_column().drops(1)},
                               {.head = "GB/s of one", .layout = number_column()},
                               {.head = "also used by", .layout = text_column().wraps(10)}}};
  for (const GroupsOfKind& kind : kinds) {
    std::string name = kind.name;
    std::string first = ranks_in_words(kind.members.front());
    for (const GroupLinks& links : kind.links)
      table.rows.push_back(
          {.cells = {std::exchange(name, ""), std::exchange(first, ""), links.name, links.medium,
                     doc::Value(grouped(links.links), static_cast<double>(links.links)),
                     links.groups > 0 ? doc::Value(std::to_string(links.groups), links.groups) : "-",
                     giga(links.capacity.si(), 1), fmt::format("{}", fmt::join(links.shared_with, ", "))}});
  }
  return table;
}

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

doc::Document group_document(const ResolvedExperiment& resolved, const std::vector<GroupsOfKind>& kinds) {
  const Cluster& cluster = *resolved.cluster;
  doc::Document page{
      .title = fmt::format("{} on {}", count(cluster.ranks(), "GPU"), count(cluster.nodes, "node")),
      .version = version()};
  doc::Section& head = page.section("head", "");
  head.is_untitled_in_text = true;
  head.add(doc::Listing{.text = page.title, .shown = doc::Shown::text});
  if (kinds.empty()) {
    head.title = "groups";
    head.add(doc::Sentence{.text = "no group of ranks exchanges data", .indent = 0});
    return page;
  }
  page.section(
          "groups",
          "Groups (GB/s: sent by a rank while all these groups of a stage send and nothing else does; GB: "
          "sent by a rank in a step)")
      .add(groups_table(kinds));
  page.section("links", "Links (each direction counts)").add(group_links_table(kinds));
  for (const NodeKind& node : node_kinds(cluster, kinds)) {
    const std::string like = node.nodes == 1 ? "" : fmt::format(", and {} like it", grouped(node.nodes - 1));
    page.section(fmt::format("node{}", node.node),
                 fmt::format("Node {}{} (one letter: one group; >: the group has ranks on other nodes too)",
                             node.node, like))
        .add(node_table(cluster, kinds, node));
  }
  return page;
}

}  // namespace trainyard
