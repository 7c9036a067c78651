#include "run/group_links.hpp"

#include "config/keys.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "platform/names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

/// Ranks that are joined by edges.
class Components {
public:
  explicit Components(int ranks) : parent_(at(ranks)) { std::iota(parent_.begin(), parent_.end(), 0); }

  void join(Rank a, Rank b) {
    const int one = root(index(a));
    const int other = root(index(b));
    parent_[at(std::max(one, other))] = std::min(one, other);
  }

  int root(int rank) {
    while (parent_[at(rank)] != rank) {
      parent_[at(rank)] = parent_[at(parent_[at(rank)])];
      rank = parent_[at(rank)];
    }
    return rank;
  }

  /// The groups of at least two ranks.
  RankGroups groups() {
    std::map<int, std::vector<Rank>> by_root;
    for (int rank = 0; rank < static_cast<int>(parent_.size()); ++rank)
      by_root[root(rank)].push_back(Rank{rank});
    RankGroups found;
    for (auto& [first, ranks] : by_root) {
      if (ranks.size() > 1) found.push_back(std::move(ranks));
    }
    return found;
  }

private:
  std::vector<int> parent_;
};

/// "node12.gpu3" -> "gpu", "leaf4" -> "leaf", "fabric".
std::string device_class(std::string_view device) {
  if (device.starts_with("node")) device.remove_prefix(std::min(device.find('.') + 1, device.size()));
  std::string text;
  for (const char letter : device) {
    if (letter < '0' || letter > '9') text += letter;
  }
  return text;
}

/// Both ends of a link, in an order that does not depend on its direction.
struct LinkClass {
  std::string name, medium;
  friend auto operator<=>(const LinkClass&, const LinkClass&) = default;
};

/// Names links by the devices at their ends.
class LinkClasses {
public:
  explicit LinkClasses(const Cluster& cluster) : cluster_(cluster) {}

  const LinkClass& of(LinkId link) {
    const auto [entry, is_new] = known_.try_emplace(link);
    if (is_new) entry->second = made(link);
    return entry->second;
  }

private:
  [[nodiscard]] LinkClass made(LinkId link) const {
    const std::string name = link_name(cluster_, link);
    const std::size_t arrow = name.find("->");
    std::string one = device_class(name.substr(0, arrow));
    std::string other = device_class(name.substr(arrow + 2));
    // GPUs and NICs first, the middle of the network last
    const auto place = [](const std::string& device) {
      constexpr std::string_view order[] = {"gpu", "nic", "pcie_switch", "cpu", "nvswitch"};
      return std::ranges::find(order, device) - std::begin(order);
    };
    if (std::pair(place(other), other) < std::pair(place(one), one)) std::swap(one, other);
    return {one + " - " + other, std::string(link_medium(cluster_, link))};
  }

  const Cluster& cluster_;
  std::map<LinkId, LinkClass> known_;
};

/// Collectives of one kind of group.
struct Family {
  Axis axis{};
  int size = 0;
  bool is_one_way = false;
  bool leaves_node = false;
  std::vector<int> collectives = {};
};

bool leaves_node(const Cluster& cluster, const TaskGraph& graph, const Collective& what) {
  for (const CollectivePhase& phase : what.phases) {
    const Pattern& pattern = with_edges(graph.patterns[at(phase.pattern)]);
    const auto crosses = [&](const Pattern::Edge& edge) {
      return cluster.node_of(edge.from) != cluster.node_of(edge.to);
    };
    const auto is_outside = [&](const LinkUse& use) { return is_fabric(cluster, use.link); };
    if (std::ranges::any_of(pattern.edges, crosses) ||
        (pattern.edges.empty() && std::ranges::any_of(link_uses(pattern), is_outside)))
      return true;
  }
  return false;
}

std::vector<Family> families(const ResolvedExperiment& resolved, const TaskGraph& graph) {
  std::map<std::tuple<Axis, bool, int, bool>, Family> found;
  for (int i = 0; i < static_cast<int>(graph.collectives.size()); ++i) {
    const Collective& what = graph.collectives[at(i)];
    if (what.phases.empty() || what.group_size < 2) continue;
    const bool is_outside = leaves_node(*resolved.cluster, graph, what);
    // messages between two stages may stay in a node or not, depending on the stages
    const bool parts = !what.one_way && is_outside;
    Family& family = found[{what.label.axis, !what.one_way, what.group_size, parts}];
    family.axis = what.label.axis;
    family.size = what.group_size;
    family.is_one_way = what.one_way;
    family.leaves_node = family.leaves_node || is_outside;
    family.collectives.push_back(i);
  }
  std::vector<Family> all;
  for (auto& [key, family] : found) all.push_back(std::move(family));
  return all;
}

struct KindAndLinks {
  GroupsOfKind kind;
  std::vector<LinkId> links;  ///< that its groups use, ascending
};

/// Which groups use which links.
class Traffic {
public:
  Traffic(const ResolvedExperiment& resolved, const TaskGraph& graph, LinkClasses& classes)
      : resolved_(resolved), graph_(graph), classes_(classes) {}

  KindAndLinks kind(const Family& family) {
    const Cluster& cluster = *resolved_.cluster;
    GroupsOfKind kind{.name = {},
                      .axis = family.axis,
                      .operations = {},
                      .groups = 0,
                      .size = family.size,
                      .members = members(family),
                      .links = {}};
    kind.groups = static_cast<std::int64_t>(kind.members.size());
    if (family.is_one_way && !kind.members.empty()) kind.size = static_cast<int>(kind.members.front().size());
    std::vector<int> group_of(at(cluster.ranks()), -1);
    for (std::size_t group = 0; group < kind.members.size(); ++group) {
      for (const Rank rank : kind.members[group]) group_of[at(index(rank))] = static_cast<int>(group);
    }
    describe_place(kind);
    std::vector<std::pair<LinkId, int>> uses;
    std::set<int> patterns;
    Bytes sent;
    Bytes most;
    for (const int number : family.collectives) {
      const Collective& what = graph_.collectives[at(number)];
      kind.operations.insert(std::string(config::name_of(what.operation)));
      const double times = static_cast<double>(what.rounds) * what.participants /
                           (static_cast<double>(what.groups) * what.group_size);
      for (const CollectivePhase& phase : what.phases) {
        const Pattern& pattern = with_edges(graph_.patterns[at(phase.pattern)]);
        const Bytes bytes = bytes_sent(phase, pattern);
        sent += bytes * times;
        if (patterns.insert(phase.pattern).second) add_uses(uses, pattern, group_of);
        if (bytes <= most) continue;
        most = bytes;
        kind.rate = send_rate(phase, pattern, what.group_size);
      }
    }
    std::int64_t ranks = 0;
    for (const auto& group : kind.members) ranks += static_cast<std::int64_t>(group.size());
    kind.bytes = sent / static_cast<double>(std::max<std::int64_t>(ranks, 1));
    std::ranges::sort(uses);
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    std::vector<LinkId> links = add_links(kind, uses);
    return {std::move(kind), std::move(links)};
  }

private:
  /// The groups of the axis that take part, if they do as a whole; otherwise the ranks that the edges join.
  [[nodiscard]] RankGroups members(const Family& family) const {
    Components joined(resolved_.cluster->ranks());
    std::vector<bool> sends(at(resolved_.cluster->ranks()), false);
    bool is_counted = false;  // which ranks take part is not known
    for (const int number : family.collectives) {
      for (const CollectivePhase& phase : graph_.collectives[at(number)].phases) {
        const Pattern& pattern = with_edges(graph_.patterns[at(phase.pattern)]);
        is_counted = is_counted || pattern.edges.empty();
        for (const Pattern::Edge& edge : pattern.edges) {
          joined.join(edge.from, edge.to);
          sends[at(index(edge.from))] = true;
        }
      }
    }
    if (family.axis != Axis::pipeline) {
      RankGroups whole = groups(resolved_.layout->grid, family.axis);
      const auto is_idle = [&](const std::vector<Rank>& group) {
        return std::ranges::none_of(group, [&](Rank rank) { return sends[at(index(rank))]; });
      };
      if (static_cast<int>(whole.front().size()) == family.size) {
        if (!is_counted) std::erase_if(whole, is_idle);
        return whole;
      }
    }
    return joined.groups();
  }

  void describe_place(GroupsOfKind& kind) const {
    if (kind.members.empty()) return;
    const Cluster& cluster = *resolved_.cluster;
    std::set<NodeId> nodes;
    std::set<int> sockets;
    for (const Rank rank : kind.members.front()) {
      nodes.insert(cluster.node_of(rank));
      if (nodes.size() > 1) continue;
      const int cpu = nearest_cpu(cluster.platform, cluster.gpu_of(rank));
      if (cpu >= 0) sockets.insert(cpu);
    }
    kind.nodes = static_cast<int>(nodes.size());
    kind.sockets = static_cast<int>(sockets.size());
  }

  void add_uses(std::vector<std::pair<LinkId, int>>& uses, const Pattern& pattern,
                const std::vector<int>& group_of) const {
    for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
      const int group = group_of[at(index(pattern.edges[edge].from))];
      for (const LinkId link : pattern.route(edge)) uses.emplace_back(link, group);
    }
    // every rank to every other: too many edges to hold, so that it is not known whose they are
    if (!pattern.edges.empty()) return;
    for (const LinkUse& use : link_uses(pattern)) uses.emplace_back(use.link, unknown_group);
  }

  [[nodiscard]] Bandwidth send_rate(const CollectivePhase& phase, const Pattern& pattern,
                                    int group_size) const {
    const Bandwidth edge = std::min(lockstep_rate(uses_of(pattern), graph_.links), phase.limit);
    std::map<Rank, int> edges_from;
    int most = 0;
    for (const Pattern::Edge& each : pattern.edges) most = std::max(most, ++edges_from[each.from]);
    if (pattern.edges.empty()) most = group_size - 1;  // every rank of a group to every other
    return edge * most;
  }

  /// Sums the uses, which are sorted, by class of link. Returns the links.
  std::vector<LinkId> add_links(GroupsOfKind& kind, const std::vector<std::pair<LinkId, int>>& uses) {
    std::map<LinkClass, GroupLinks> by_class;
    std::vector<LinkId> used;
    for (auto use = uses.begin(); use != uses.end();) {
      const auto next =
          std::find_if(use, uses.end(), [&](const auto& other) { return other.first != use->first; });
      const LinkClass& link_class = classes_.of(use->first);
      const Bandwidth capacity = graph_.links[at(static_cast<int>(index(use->first)))];
      GroupLinks& links = by_class[link_class];
      if (links.links == 0)
        links = {.name = link_class.name, .medium = link_class.medium, .capacity = capacity};
      ++links.links;
      links.capacity = std::min(links.capacity, capacity);
      const bool is_unknown = use->second == unknown_group;
      if (!is_unknown) links.groups = std::max(links.groups, static_cast<int>(next - use));
      used.push_back(use->first);
      use = next;
    }
    for (auto& [link_class, links] : by_class) kind.links.push_back(std::move(links));
    return used;
  }

  static constexpr int unknown_group = -2;
  const ResolvedExperiment& resolved_;
  const TaskGraph& graph_;
  LinkClasses& classes_;
};

std::string name_of_family(const Family& family, const std::vector<Family>& all) {
  const std::string axis(config::name_of(family.axis));
  const auto has_axis = [&](const Family& other) { return other.axis == family.axis; };
  if (std::ranges::count_if(all, has_axis) == 1) return axis;
  if (family.axis == Axis::pipeline) return family.is_one_way ? axis : "ends of the pipeline";
  return axis + (family.leaves_node ? " across nodes" : " in nodes");
}

}  // namespace

std::vector<GroupsOfKind> group_links(const ResolvedExperiment& resolved, const TaskGraph& graph) {
  if (!resolved.layout) return {};
  LinkClasses classes(*resolved.cluster);
  Traffic traffic(resolved, graph, classes);
  const std::vector<Family> all = families(resolved, graph);
  std::vector<GroupsOfKind> kinds;
  std::vector<std::vector<LinkId>> links_of_kind;
  for (const Family& family : all) {
    auto [kind, links] = traffic.kind(family);
    kind.name = name_of_family(family, all);
    kinds.push_back(std::move(kind));
    links_of_kind.push_back(std::move(links));
  }
  for (std::size_t one = 0; one < kinds.size(); ++one) {
    for (std::size_t other = 0; other < kinds.size(); ++other) {
      if (one == other) continue;
      std::vector<LinkId> common;
      std::ranges::set_intersection(links_of_kind[one], links_of_kind[other], std::back_inserter(common));
      std::set<LinkClass> shared;
      for (const LinkId link : common) shared.insert(classes.of(link));
      for (GroupLinks& links : kinds[one].links) {
        if (shared.contains({links.name, links.medium})) links.shared_with.insert(kinds[other].name);
      }
    }
  }
  return kinds;
}

std::vector<NodeKind> node_kinds(const Cluster& cluster, const std::vector<GroupsOfKind>& kinds) {
  std::vector<std::vector<int>> group_of_rank;
  std::vector<std::vector<int>> nodes_of_group;
  for (const GroupsOfKind& kind : kinds) {
    std::vector<int>& group_of = group_of_rank.emplace_back(at(cluster.ranks()), -1);
    std::vector<int>& nodes_of = nodes_of_group.emplace_back();
    for (std::size_t group = 0; group < kind.members.size(); ++group) {
      std::set<NodeId> nodes;
      for (const Rank rank : kind.members[group]) {
        group_of[at(index(rank))] = static_cast<int>(group);
        nodes.insert(cluster.node_of(rank));
      }
      nodes_of.push_back(static_cast<int>(nodes.size()));
    }
  }
  std::map<std::pair<std::vector<std::vector<int>>, std::vector<bool>>, std::size_t> known;
  std::vector<NodeKind> found;
  for (int node = 0; node < cluster.nodes; ++node) {
    NodeKind node_kind{.node = node, .nodes = 1, .group_of = {}, .leaves = {}};
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      std::map<int, int> numbers;  // of groups on this node, from 0
      std::vector<int>& row = node_kind.group_of.emplace_back();
      bool leaves = false;
      for (int rank = cluster.first_rank[at(node)]; rank < cluster.first_rank[at(node + 1)]; ++rank) {
        const int group = group_of_rank[kind][at(rank)];
        if (group < 0) {
          row.push_back(-1);
          continue;
        }
        row.push_back(numbers.try_emplace(group, static_cast<int>(numbers.size())).first->second);
        leaves = leaves || nodes_of_group[kind][at(group)] > 1;
      }
      node_kind.leaves.push_back(leaves);
    }
    const auto [entry, is_new] = known.try_emplace({node_kind.group_of, node_kind.leaves}, found.size());
    if (is_new)
      found.push_back(std::move(node_kind));
    else
      ++found[entry->second].nodes;
  }
  return found;
}

}  // namespace trainyard
