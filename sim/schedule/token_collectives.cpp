#include "schedule/token_collectives.hpp"

#include "strategy/experts.hpp"
#include "strategy/routing.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

TokenDispatcher dispatcher(const ResolvedExperiment& resolved) {
  return resolved.layout->parallelism.dispatcher.value_or(resolved.stack.dispatcher);
}

/// Of the first mixture of experts.
ExpertGroups experts_of(const Routing& routing, const RankClass& one, int ranks) {
  const auto copies = std::ranges::find_if(one.layers, copies_tokens);
  const auto first =
      std::ranges::find_if(copies, one.layers.end(), [](const Layer& layer) { return layer.experts > 0; });
  ExpertGroups of{.experts = first->experts * ranks,
                  .per_token = static_cast<int>(std::lround(copies->out_elements / copies->in_elements)),
                  .groups = routing.groups.value_or(1)};
  of.limit = routing.group_limit.value_or(of.groups);
  return of;
}

}  // namespace

bool is_exchange(const ResolvedExperiment& resolved, const OpCommunication& what) {
  return what.axis == Axis::expert &&
         (what.operation != Operation::all_gather || dispatcher(resolved) == TokenDispatcher::all_gather);
}

bool is_deduplicated(const ResolvedExperiment& resolved, const OpCommunication& what) {
  return dispatcher(resolved) == TokenDispatcher::deepep && what.operation == Operation::all_to_all &&
         what.axis == Axis::expert;
}

void add_deduplicated(const ResolvedExperiment& resolved, const OpCommunication& what, int op,
                      const RankClass& one, LayoutCollectives& collectives, StageCollectives& made) {
  constexpr int multiprocessors = 20;  // Megatron-Core's moe_flex_dispatcher_num_sms; DeepEP's own default
  constexpr double of_links = 0.6;
  const int ranks = collectives.group_size(what.axis, one.stage);
  const ExpertGroups experts = experts_of(resolved.layout->parallelism.routing, one, ranks);
  const int nodes = collectives.nodes_of_groups(what.axis, one.stage).value_or(1);
  const Bytes tokens = what.size / experts.per_token;  // if each went to one rank
  const CollectiveUse use{
      .name = one.trace.ops[at(op)].layer,
      .purpose = one.trace.ops[at(op)].phase == Phase::forward ? "activations" : "activation gradients",
      .ready_op = op,
      .of_layers = true,
      .blocks = multiprocessors,
      .share = of_links};
  const bool is_hierarchical = nodes > 1 && nodes < ranks;
  OpLaunch launch{.op = op,
                  .at = what.at,
                  .needed_by = (what.at == LaunchTime::end ? op + 1 : op) + what.waits.value_or(0),
                  .is_exchange = true};
  if (is_hierarchical) {
    launch.collective =
        collectives.add(what.operation, what.axis, one.stage, tokens * visited_parts(experts, nodes), use,
                        GroupScope::across_nodes);
    launch.stream = Stream::tokens;
    launch.in_order = true;
    made.of_ops.push_back(launch);
  }
  launch.collective =
      collectives.add(what.operation, what.axis, one.stage, tokens * visited_parts(experts, ranks), use,
                      is_hierarchical ? GroupScope::inside_nodes : GroupScope::whole);
  launch.stream = Stream::layers;
  launch.in_order = what.in_order;
  made.of_ops.push_back(launch);
}

}  // namespace trainyard
