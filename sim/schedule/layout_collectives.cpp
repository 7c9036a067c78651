#include "schedule/layout_collectives.hpp"

#include "config/diagnostic.hpp"
#include "platform/channels.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

/// Messages between two stages, and the all-reduce between the ends of a pipeline, have an axis and two
/// stages.
constexpr Axis between_stages = Axis::pipeline;

/// The ranks of each group on one node, or those with the same place on all nodes of the group. Throws
/// InputError if a group has different numbers of ranks on its nodes.
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
    for (std::size_t node = first; node < inside.size(); ++node) {
      if (inside[node].size() == inside[first].size()) continue;
      throw InputError(
          fmt::format("replicas divide state inside nodes, but one node has {} of them, another {}",
                      inside[first].size(), inside[node].size()),
          "shard_over: data, or as many replicas on every node");
    }
    for (std::size_t place = 0; place < inside[first].size(); ++place) {
      std::vector<Rank>& same = across.emplace_back();
      for (std::size_t node = first; node < inside.size(); ++node) same.push_back(inside[node][place]);
    }
  }
  return is_inside ? inside : across;
}

}  // namespace

LayoutCollectives::LayoutCollectives(const ResolvedExperiment& resolved, StepPlan& plan)
    : resolved_(resolved),
      plan_(plan),
      software_{.version = resolved.stack.nccl,
                .overheads = resolved.overheads,
                .compute_capability = compute_capability(resolved.gpu)} {}

int LayoutCollectives::group_size(Axis axis, int stage, GroupScope scope) const {
  return static_cast<int>(groups_of(axis, stage, scope).front().size());
}

RankGroups LayoutCollectives::groups_of(Axis axis, int stage, GroupScope scope) const {
  RankGroups whole = groups_of_stage(resolved_.layout->grid, axis, stage);
  if (scope == GroupScope::whole) return whole;
  return parts_by_node(*resolved_.cluster, whole, scope == GroupScope::inside_nodes);
}

int LayoutCollectives::add(Operation operation, Axis axis, int stage, Bytes size, CollectiveUse use,
                           GroupScope scope) {
  const Key key{operation, axis, stage, stage, scope};
  const auto [entry, is_new] = groups_.try_emplace(key);
  if (is_new) entry->second = groups_of(axis, stage, scope);
  return add(key, entry->second, size, std::move(use));
}

int LayoutCollectives::add_message(int from, int to, Bytes size, CollectiveUse use) {
  const Key key{Operation::send_recv, between_stages, from, to, GroupScope::whole};
  const auto [entry, is_new] = groups_.try_emplace(key);
  if (is_new) entry->second = stage_pairs(resolved_.layout->grid, from, to);
  return add(key, entry->second, size, std::move(use));
}

int LayoutCollectives::add_between_ends(Bytes size, CollectiveUse use) {
  const int last = resolved_.layout->grid.pipeline - 1;
  const Key key{Operation::all_reduce, between_stages, 0, last, GroupScope::whole};
  const auto [entry, is_new] = groups_.try_emplace(key);
  if (is_new) {
    entry->second = stage_pairs(resolved_.layout->grid, 0, last);
    for (std::vector<Rank>& pair : entry->second) std::ranges::sort(pair);
  }
  return add(key, entry->second, size, std::move(use));
}

Planner& LayoutCollectives::planner(const Key& key, const RankGroups& groups) {
  const Operation operation = std::get<Operation>(key);
  const bool is_data = is_of_replicas(std::get<Axis>(key)) && operation == Operation::all_reduce;
  return planners_
      .try_emplace(key, *resolved_.network, software_,
                   PlannerRequest{
                       .operation = operation,
                       .groups = groups,
                       .root = groups.front().front(),
                       .algorithm = is_data ? resolved_.settings.sync.algorithm : Algorithm::automatic,
                       .one_way = operation == Operation::send_recv && std::get<Axis>(key) == between_stages})
      .first->second;
}

int LayoutCollectives::add(const Key& key, const RankGroups& groups, Bytes size, CollectiveUse use) {
  Planner& by_size = planner(key, groups);
  const CollectivePlan& chosen = by_size.plan(size, plan_.graph.patterns);
  for (const std::string& note : chosen.notes) {
    if (std::ranges::find(plan_.notes, note) == plan_.notes.end()) plan_.notes.push_back(note);
  }
  plan_.channels = std::max(plan_.channels, chosen.channels);
  const auto number = static_cast<int>(plan_.graph.collectives.size());
  Collective& collective =
      plan_.graph.collectives.emplace_back(by_size.collective(size, plan_.graph.patterns));
  collective.label = {.name = std::move(use.name),
                      .purpose = std::move(use.purpose),
                      .axis = std::get<1>(key),
                      .of_layers = use.of_layers,
                      .algorithm = chosen.algorithm,
                      .protocol = chosen.protocol,
                      .channels = chosen.channels,
                      .tensors = use.tensors,
                      .ready_op = use.ready_op,
                      .held = {},
                      .before = {},
                      .after = {},
                      .bound = by_size.bound(size)};
  stages_.push_back({std::get<2>(key), std::get<3>(key)});
  return number;
}

}  // namespace trainyard
