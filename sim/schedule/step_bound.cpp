#include "schedule/step_bound.hpp"

#include "collectives/bounds.hpp"
#include "experiment/op_times.hpp"
#include "strategy/shard_units.hpp"
#include "units/ids.hpp"
#include "workload/accumulate.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// Bounds of collectives over the groups of an axis on a stage, each computed once.
class AxisBounds {
public:
  AxisBounds(const ResolvedExperiment& resolved, NodeTimes& in_nodes)
      : resolved_(resolved), in_nodes_(in_nodes) {}

  /// The bound of a collective that the step sends as it is, not in buckets.
  Seconds of_whole(Operation operation, Axis axis, int stage, Bytes size) {
    Seconds bound = of(operation, axis, stage, size);
    if (traits(axis).are_replicas() || has_root(operation)) return bound;
    for (const BoundingGroup& group : groups_of(axis, stage))
      bound = std::max(bound, in_nodes_.of(operation, group.ranks, size));
    return bound;
  }

  Seconds of(Operation operation, Axis axis, int stage, Bytes size) {
    const std::vector<BoundingGroup>& groups = groups_of(axis, stage);
    if (groups.front().ranks.size() < 2) return {};
    const auto [bound, is_new] = bounds_.try_emplace({operation, axis, stage, size});
    if (is_new)
      bound->second =
          collective_bound(*resolved_.network, resolved_.library.overheads, operation, groups, size);
    return bound->second;
  }

private:
  const std::vector<BoundingGroup>& groups_of(Axis axis, int stage) {
    const auto [groups, is_new] = groups_.try_emplace({axis, stage});
    if (!is_new) return groups->second;
    RankGroups all = groups_of_stage(resolved_.layout->grid, axis, stage);
    if (all.front().size() < 2)
      groups->second = {{.ranks = std::move(all.front())}};
    else
      groups->second = bounding_groups(*resolved_.network, all);
    return groups->second;
  }

  const ResolvedExperiment& resolved_;
  NodeTimes& in_nodes_;
  std::map<std::pair<Axis, int>, std::vector<BoundingGroup>> groups_;
  std::map<std::tuple<Operation, Axis, int, Bytes>, Seconds> bounds_;
};

/// The times of a stage, all of them lower bounds.
struct StageTimes {
  Seconds first_forward;  ///< of one micro-batch through the stage's first chunk
  Seconds last_backward;  ///< back through the same
  Seconds passes;         ///< of all micro-batches through all chunks
  Seconds reduction;      ///< of its gradients, in all micro-batches that reduce them
  Seconds gathers;        ///< of parameters that replicas divide, in all micro-batches
  Seconds end;            ///< the ops that end the step, and gathers of updated parameters
  Seconds update;         ///< the part of `end` that begins when the gradients are reduced
};

void add_busy(const Op& op, Seconds time, double ranks, StepBound& bound) {
  if (op.kind == OpKind::host) return;
  (is_matrix(op.kind) ? bound.matrix : bound.vector) += ranks * time;
}

/// Time of an op and of the collectives for which the next op waits. Overlapped collectives take no time.
Seconds time_with_waits(const Op& op, Seconds duration, int stage, AxisBounds& bounds) {
  Seconds time = duration;
  for (const OpCommunication& launched : op.communications) {
    if (launched.waits.value_or(0) == 0)
      time += bounds.of_whole(launched.operation, launched.axis, stage, launched.size);
  }
  return time;
}

/// Whether the replicas of whole axes divide state. Collectives of those inside nodes count nothing.
bool has_whole_shards(const Parallelism& parallelism) {
  return parallelism.shard != Sharded::none && parallelism.shard_over == ShardOver::data;
}

/// The collectives by which the replicas of a stage exchange gradients and parameters.
void add_exchange(const ResolvedExperiment& resolved, const RankClass& one, int number, AxisBounds& bounds,
                  StageTimes& stage) {
  const Parallelism& parallelism = resolved.layout->parallelism;
  const bool is_sharded = has_whole_shards(parallelism);
  if (parallelism.shard != Sharded::none && !is_sharded) return;
  std::map<Axis, double> elements;
  for (const Op& op : one.trace.ops) {
    for (const Gradient& gradient : op.gradients) {
      if (gradient.summed_over) elements[*gradient.summed_over] += gradient.elements;
    }
  }
  const bool is_part = is_sharded && !sums_all_gradients(resolved.stack, parallelism.shard);
  const Operation operation = is_part ? Operation::reduce_scatter : Operation::all_reduce;
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  const Bytes weight = element_sizes(resolved.settings.precision).compute_weight;
  Seconds gather;
  for (const auto& [axis, count] : elements) {
    stage.reduction = std::max(stage.reduction, bounds.of(operation, axis, number, count * value));
    if (is_sharded) gather += bounds.of(Operation::all_gather, axis, number, count * weight);
  }
  if (parallelism.shard >= Sharded::gradients)  // also with units, which reduce in every micro-batch
    stage.reduction = resolved.layout->micro_batches * stage.reduction;
  if (is_sharded && !has_units(resolved.stack, parallelism.shard) && !resolved.stack.overlap_parameters) {
    stage.end += gather;
    stage.update += gather;
  }
}

/// Units are gathered before forward and, unless they stay whole, again before backward (unit_program.hpp);
/// gathers inside nodes count nothing.
Seconds gathers_of_units(const ResolvedExperiment& resolved, const RankClass& one, int stage,
                         AxisBounds& bounds) {
  const Parallelism& parallelism = resolved.layout->parallelism;
  if (!has_units(resolved.stack, parallelism.shard) || !has_whole_shards(parallelism)) return {};
  const Bytes weight = element_sizes(resolved.settings.precision).compute_weight;
  const UnitRules rules = unit_rules(resolved.stack, parallelism.shard);
  Seconds sum;
  for (const ShardUnit& unit : shard_units(one, rules)) {
    const bool is_once = unit.is_kept || rules.reshard_after_forward == ReshardAfterForward::node;
    for (const auto& [axis, elements] : unit.parameters) {
      const auto whole = unit.whole.find(axis);
      const double gathered = elements - (whole == unit.whole.end() ? 0 : whole->second);
      sum += (is_once ? 1 : 2) * bounds.of(Operation::all_gather, axis, stage, gathered * weight);
    }
  }
  return resolved.layout->micro_batches * sum;
}

/// The times of one of the stages that a class stands for. `times`: of the class's ops.
StageTimes times_of(const ResolvedExperiment& resolved, const RankClass& one, std::span<const OpTime> times,
                    int number, AxisBounds& bounds, StepBound& bound) {
  const int micro_batches = resolved.layout->micro_batches;
  const auto ranks = static_cast<double>(one.ranks.size());
  StageTimes stage;
  const auto time_of = [&](int index, double runs) {
    const Op& op = one.trace.ops[at(index)];
    // A job whose layout changes nothing, or with a host, adds the gradients of the later micro-batches
    // alone.
    if (is_gradient_addition(op)) runs -= 1;
    add_busy(op, runs * times[at(index)].duration, ranks, bound);
    return runs * time_with_waits(op, times[at(index)].duration, number, bounds);
  };
  int after = 0;
  for (const PassOps& pass : one.passes) {
    Seconds time;
    for (int op = pass.first; op < pass.end; ++op) time += time_of(op, micro_batches);
    stage.passes += time;
    const Seconds once = time / micro_batches;
    if (pass.chunk == 0 && pass.kind == PassKind::forward) stage.first_forward = once;
    if (pass.chunk == 0 && pass.kind == PassKind::backward) stage.last_backward = once;
    after = std::max(after, pass.end);
  }
  for (int op = after; op < static_cast<int>(times.size()); ++op) {
    const Seconds time = time_of(op, 1);
    stage.end += time;
    if (one.trace.ops[at(op)].phase == Phase::optimizer) stage.update += time;
  }
  add_exchange(resolved, one, number, bounds, stage);
  stage.gathers = gathers_of_units(resolved, one, number, bounds);
  return stage;
}

/// Whether the reductions of gradients begin after the last pass.
bool reduces_at_end(const ResolvedExperiment& resolved) {
  const Parallelism& parallelism = resolved.layout->parallelism;
  return !resolved.stack.overlap && parallelism.virtual_stages == 1 &&
         parallelism.shard <= Sharded::optimizer;
}

}  // namespace

StepBound step_bound(const ResolvedExperiment& resolved, NodeTimes& in_nodes) {
  AxisBounds bounds(resolved, in_nodes);
  StepBound bound;
  std::vector<StageTimes> stages(at(resolved.layout->grid.pipeline));
  for (const RankClass& one : resolved.classes) {
    const std::vector<OpTime> times = op_times(one.trace, resolved.gpu, resolved.stack);
    for (const int stage : stages_of(one))
      stages.at(at(stage)) = times_of(resolved, one, times, stage, bounds, bound);
  }
  // The last pass of a split backward is not the one that the stage before waits for.
  const bool has_drain = !traits(resolved.layout->schedule).splits_backward;
  const bool at_end = reduces_at_end(resolved);
  const auto end_of = [&](const StageTimes& stage) {
    return (at_end ? stage.reduction : Seconds()) + stage.end;
  };
  Seconds fill;
  Seconds drain;
  for (const StageTimes& stage : stages) {
    const Seconds drained = has_drain ? drain + end_of(stages.front()) : Seconds();
    const Seconds compute = fill + stage.passes + std::max(drained, end_of(stage));
    bound.time = std::max({bound.time, compute, std::max(stage.reduction, stage.gathers) + stage.update});
    fill += stage.first_forward;
    drain += stage.last_backward;
  }
  constexpr double rounding = 1e-12;  // a simulation sums the same times in another order
  bound.time = (1 - rounding) * bound.time;
  return bound;
}

}  // namespace trainyard
