#include "schedule/layout_collectives.hpp"

#include "platform/channels.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

/// Messages between two stages, and the all-reduce between the ends of a pipeline, have an axis and two
/// stages.
constexpr Axis between_stages = Axis::pipeline;

}  // namespace

LayoutCollectives::LayoutCollectives(const ResolvedExperiment& resolved, StepPlan& plan)
    : resolved_(resolved),
      plan_(plan),
      software_{.version = resolved.stack.nccl,
                .overheads = resolved.overheads,
                .compute_capability = compute_capability(resolved.gpu)} {}

int LayoutCollectives::group_size(Axis axis, int stage) const {
  return static_cast<int>(groups_of_stage(resolved_.layout->grid, axis, stage).front().size());
}

int LayoutCollectives::add(Operation operation, Axis axis, int stage, Bytes size, CollectiveUse use) {
  const Key key{operation, axis, stage, stage};
  const auto [entry, is_new] = groups_.try_emplace(key);
  if (is_new) entry->second = groups_of_stage(resolved_.layout->grid, axis, stage);
  return add(key, entry->second, size, std::move(use));
}

int LayoutCollectives::add_message(int from, int to, Bytes size, CollectiveUse use) {
  const Key key{Operation::send_recv, between_stages, from, to};
  const auto [entry, is_new] = groups_.try_emplace(key);
  if (is_new) entry->second = stage_pairs(resolved_.layout->grid, from, to);
  return add(key, entry->second, size, std::move(use));
}

int LayoutCollectives::add_between_ends(Bytes size, CollectiveUse use) {
  const int last = resolved_.layout->grid.pipeline - 1;
  const Key key{Operation::all_reduce, between_stages, 0, last};
  const auto [entry, is_new] = groups_.try_emplace(key);
  if (is_new) {
    entry->second = stage_pairs(resolved_.layout->grid, 0, last);
    for (std::vector<Rank>& pair : entry->second) std::ranges::sort(pair);
  }
  return add(key, entry->second, size, std::move(use));
}

Planner& LayoutCollectives::planner(const Key& key, const RankGroups& groups) {
  const auto [operation, axis, from, to] = key;
  const bool is_data = axis == Axis::data && operation == Operation::all_reduce;
  return planners_
      .try_emplace(
          key, *resolved_.network, software_,
          PlannerRequest{.operation = operation,
                         .groups = groups,
                         .root = groups.front().front(),
                         .algorithm = is_data ? resolved_.settings.sync.algorithm : Algorithm::automatic,
                         .one_way = operation == Operation::send_recv})
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
  collective.rounds = use.rounds;
  collective.label = {.name = std::move(use.name),
                      .purpose = std::move(use.purpose),
                      .axis = std::get<1>(key),
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
