#include "schedule/layout_collectives.hpp"

#include "experiment/collective_software.hpp"
#include "platform/channels.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <set>
#include <utility>

namespace trainyard {

namespace {

/// Messages and all-reduces between two stages have an axis and two
/// stages.
constexpr Axis between_stages = Axis::pipeline;

/// The ranks of each group on one node, or those with the same place on all nodes of the group, each of which
/// has as many.
RankGroups parts_by_node(const Cluster& cluster, const RankGroups& groups, bool is_inside) {
  RankGroups inside;
  RankGroups across;
  for (const std::vector<Rank>& group : groups) {
    const std::size_t first = inside.size();
    for (const Rank rank : group) {
      const bool is_same =
          inside.size() > first && cluster.node_of(inside.back().back()) == cluster.node_of(rank);
      if (!is_same) inside.emplace_back();
      inside.back().push_back(rank);
    }
    // experiment/layout.cpp refuses others
    assert(std::all_of(inside.begin() + static_cast<std::ptrdiff_t>(first), inside.end(),
                       [&](const auto& part) { return part.size() == inside[first].size(); }));
    for (std::size_t place = 0; place < inside[first].size(); ++place) {
      std::vector<Rank>& same = across.emplace_back();
      for (std::size_t node = first; node < inside.size(); ++node) same.push_back(inside[node][place]);
    }
  }
  return is_inside ? inside : across;
}

/// The ranks that together hold a copy of the model's state: those of a replica, with those that hold its
/// other experts or the other parts of divided layers, and all of them if they divide layers or all state.
RankGroups copies_of_state(const Cluster& cluster, const RankLayout& layout,
                           std::optional<GroupScope> shards) {
  const Grid& grid = layout.grid;
  const bool divides_layers = !layout.parallelism.layers.empty();
  if (divides_layers && shards) shards = GroupScope::whole;
  const std::size_t together = at(divides_layers ? grid.layer : grid.expert);
  RankGroups copies;
  const auto add = [&](std::size_t copy, const std::vector<Rank>& ranks) {
    if (copy == copies.size()) copies.emplace_back();
    copies[copy].insert(copies[copy].end(), ranks.begin(), ranks.end());
  };
  for (const std::vector<Rank>& replicas : groups(grid, Axis::data)) {
    std::size_t copy = 0;
    if (!shards) {
      for (std::size_t i = 0; i < replicas.size(); ++i) add(i / together, {replicas[i]});
    } else if (*shards == GroupScope::whole) {
      add(copy, replicas);
    } else {
      for (const std::vector<Rank>& part : parts_by_node(cluster, {replicas}, true)) add(copy++, part);
    }
  }
  for (std::vector<Rank>& ranks : copies) std::ranges::sort(ranks);
  return copies;
}

}  // namespace

LayoutCollectives::LayoutCollectives(const ResolvedExperiment& resolved, StepPlan& plan)
    : resolved_(resolved), plan_(plan) {}

int LayoutCollectives::group_size(Axis axis, int stage, GroupScope scope) {
  return static_cast<int>(groups_of(axis, stage, scope).front().size());
}

const RankGroups& LayoutCollectives::groups_of(Axis axis, int stage, GroupScope scope) {
  const auto [entry, is_new] = groups_.try_emplace({axis, stage, scope});
  if (!is_new) return entry->second;
  RankGroups whole = groups_of_stage(resolved_.layout->grid, axis, stage);
  entry->second = scope == GroupScope::whole
                      ? std::move(whole)
                      : parts_by_node(*resolved_.cluster, whole, scope == GroupScope::inside_nodes);
  return entry->second;
}

std::optional<int> LayoutCollectives::nodes_of_groups(Axis axis, int stage) {
  std::set<std::size_t> nodes;
  std::set<int> ranks;  // of a group on a node
  for (const std::vector<Rank>& group : groups_of(axis, stage, GroupScope::whole)) {
    std::map<NodeId, int> on_node;
    for (const Rank rank : group) ++on_node[resolved_.cluster->node_of(rank)];
    nodes.insert(on_node.size());
    for (const auto& [node, count] : on_node) ranks.insert(count);
  }
  if (nodes.size() != 1 || ranks.size() != 1) return std::nullopt;
  return static_cast<int>(*nodes.begin());
}

int LayoutCollectives::add(Operation operation, Axis axis, int stage, Bytes size, CollectiveUse use,
                           GroupScope scope) {
  const Key key{operation, axis, stage, stage, scope, use.root};
  return add(key, groups_of(axis, stage, scope), size, std::move(use));
}

int LayoutCollectives::add_message(int from, int to, Bytes size, CollectiveUse use) {
  const Key key{Operation::send_recv, between_stages, from, to, GroupScope::whole, 0};
  const auto [entry, is_new] = pairs_.try_emplace(key);
  if (is_new) entry->second = stage_pairs(resolved_.layout->grid, from, to);
  return add(key, entry->second, size, std::move(use));
}

int LayoutCollectives::add_between(int first, int last, Bytes size, CollectiveUse use) {
  const Key key{Operation::all_reduce, between_stages, first, last, GroupScope::whole, 0};
  const auto [entry, is_new] = pairs_.try_emplace(key);
  if (is_new) {
    entry->second = stage_pairs(resolved_.layout->grid, first, last);
    for (std::vector<Rank>& pair : entry->second) std::ranges::sort(pair);
  }
  return add(key, entry->second, size, std::move(use));
}

int LayoutCollectives::add_norm(std::optional<GroupScope> shards) {
  constexpr int all_stages = -1;
  constexpr Bytes value{4};
  const RankGroups copies = copies_of_state(*resolved_.cluster, *resolved_.layout, shards);
  if (copies.front().size() == 1) return -1;
  const Key key{Operation::all_reduce, Axis::all, all_stages, all_stages, GroupScope::whole, 0};
  std::vector<Pattern> patterns;
  Planner& by_size = planner(key, copies);
  Collective norm = by_size.collective(value, patterns);
  norm.overhead = time_alone(
      norm, [&](int pattern) { return lockstep_rate(uses_of(patterns[at(pattern)]), plan_.graph.links); });
  norm.phases.clear();
  return append(key, std::move(norm), by_size.plan(value, patterns), by_size.bound(value),
                {.name = "gradient norm", .purpose = "gradient norm"});
}

Planner& LayoutCollectives::planner(const Key& key, const RankGroups& groups) {
  if (const auto known = planners_.find(key); known != planners_.end()) return known->second;
  const Operation operation = std::get<Operation>(key);
  const bool is_data = traits(std::get<Axis>(key)).are_replicas() && operation == Operation::all_reduce;
  return planners_
      .try_emplace(key, *resolved_.network, resolved_.library,
                   PlannerRequest{
                       .operation = operation,
                       .groups = groups,
                       .root = groups.front()[at(std::get<5>(key))],
                       .algorithm = is_data ? resolved_.settings.sync.algorithm : Algorithm::automatic,
                       .grid = resolved_.settings.sync.grid,
                       .one_way = operation == Operation::send_recv && std::get<Axis>(key) == between_stages})
      .first->second;
}

int LayoutCollectives::add(const Key& key, const RankGroups& groups, Bytes size, CollectiveUse use) {
  Planner& by_size = planner(key, groups);
  const CollectivePlan& chosen = by_size.plan(size, plan_.graph.patterns);
  Collective collective = by_size.collective(size, plan_.graph.patterns);
  for (CollectivePhase& phase : collective.phases) {
    if (use.share == 1 || phase.pattern < 0) continue;
    const Pattern& pattern = plan_.graph.patterns[at(phase.pattern)];
    phase.limit = std::min(phase.limit, use.share * lockstep_rate(uses_of(pattern), plan_.graph.links));
  }
  return append(key, std::move(collective), chosen, by_size.bound(size), std::move(use));
}

int LayoutCollectives::append(const Key& key, Collective collective, const CollectivePlan& chosen,
                              Seconds bound, CollectiveUse use) {
  for (const std::string& note : chosen.notes) {
    if (std::ranges::find(plan_.notes, note) == plan_.notes.end()) plan_.notes.push_back(note);
  }
  plan_.channels = std::max(plan_.channels, chosen.channels);
  const int channels = use.blocks > 0 ? (use.blocks + 1) / 2 : chosen.channels;  // of two blocks each
  collective.label = {.name = std::move(use.name),
                      .purpose = std::move(use.purpose),
                      .axis = std::get<Axis>(key),
                      .of_layers = use.of_layers,
                      .algorithm = chosen.algorithm,
                      .protocol = chosen.protocol,
                      .channels = channels,
                      .tensors = use.tensors,
                      .ready_op = use.ready_op,
                      .held = {},
                      .before = {},
                      .after = {},
                      .bound = bound};
  plan_.graph.collectives.push_back(std::move(collective));
  stages_.push_back({std::get<2>(key), std::get<3>(key)});
  return static_cast<int>(plan_.graph.collectives.size()) - 1;
}

}  // namespace trainyard
