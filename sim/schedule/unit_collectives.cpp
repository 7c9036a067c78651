#include "schedule/unit_collectives.hpp"

#include "strategy/unit_copies.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

class UnitPlanner {
public:
  UnitPlanner(const ResolvedExperiment& resolved, ReplicaCollectives& replicas,
              LayoutCollectives& collectives)
      : resolved_(resolved), replicas_(replicas), collectives_(collectives) {}

  void add_units(const RankClass& one, StageCollectives& made) {
    made.unit_rules = unit_rules(resolved_.stack, resolved_.layout->parallelism.shard);
    const std::vector<ShardUnit> units = shard_units(one, made.unit_rules);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const ShardUnit& unit = units[i];
      const std::string name = unit.is_root ? "root" : fmt::format("unit {}", i);
      UnitLaunch& launch = made.units.emplace_back(UnitLaunch{.unit = unit});
      launch.gathered = gathered_parameters(unit, resolved_.layout->state_shards);
      add_gathers(one, made.unit_rules, name, launch);
    }
    add_unit_reductions(one, made);
    add_side_work(made);
    add_gathers_of_whole(one, made);
  }

private:
  void add_gathers(const RankClass& one, const UnitRules& rules, const std::string& name,
                   UnitLaunch& launch) {
    const bool is_node = rules.reshard_after_forward == ReshardAfterForward::node &&
                         replicas_.shards == GroupScope::whole && !launch.unit.is_kept;
    for (const auto& [axis, parameters] : launch.unit.parameters) {
      if (!replicas_.is_divided(axis, one.stage)) continue;
      const auto whole = launch.unit.whole.find(axis);
      const double gathered = parameters - (whole == launch.unit.whole.end() ? 0 : whole->second);
      if (gathered <= 0) continue;
      const CollectiveUse use{.name = name, .purpose = "parameters"};
      if (rules.each_tensor) {
        for (const auto& [along, values] : launch.unit.tensors) {
          if (along == axis && values >= rules.whole_below)
            launch.gathers.push_back(replicas_.add_gather(axis, one.stage, values * replicas_.weight, use));
        }
        continue;
      }
      launch.gathers.push_back(replicas_.add_gather(axis, one.stage, gathered * replicas_.weight, use));
      if (!is_node) continue;
      const bool has_parts = collectives_.group_size(axis, one.stage, GroupScope::inside_nodes) > 1;
      if (has_parts)
        launch.gathers_again.push_back(collectives_.add(Operation::all_gather, axis, one.stage,
                                                        gathered * replicas_.weight, use,
                                                        GroupScope::inside_nodes));
    }
  }

  /// Gradients of units that backward completes one after the other, up to reduced_parameters, are reduced
  /// together, when the last of them has ended.
  void add_unit_reductions(const RankClass& one, StageCollectives& made) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < made.units.size(); ++i) {
      if (made.units[i].unit.last_backward >= 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return made.units[i].unit.last_backward; });
    const auto count_of = [](const std::map<Axis, double>& values) {
      double sum = 0;
      for (const auto& [axis, count] : values) sum += count;
      return sum;
    };
    std::map<Axis, double> open;
    std::vector<std::pair<Axis, double>> tensors;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ShardUnit& unit = made.units[order[i]].unit;
      for (const auto& [axis, count] : unit.parameters) open[axis] += count;
      if (made.unit_rules.each_tensor)
        tensors.insert(tensors.end(), unit.tensors.begin(), unit.tensors.end());
      const double next = i + 1 < order.size() ? count_of(made.units[order[i + 1]].unit.parameters) : 0;
      const bool is_open = i + 1 < order.size() && made.unit_rules.reduced_parameters &&
                           count_of(open) + next <= *made.unit_rules.reduced_parameters;
      if (is_open) continue;
      if (!made.unit_rules.each_tensor) tensors.assign(open.begin(), open.end());
      open.clear();
      reduce_unit(one, std::exchange(tensors, {}), order[i], made.units[order[i]]);
    }
  }

  /// `gradients`: values of each reduction, and the axis along which they are summed.
  void reduce_unit(const RankClass& one, const std::vector<std::pair<Axis, double>>& gradients,
                   std::size_t number, UnitLaunch& launch) {
    const std::string name = launch.unit.is_root ? "root" : fmt::format("unit {}", number);
    for (const auto& [axis, parameters] : gradients) {
      if (collectives_.group_size(axis, one.stage) == 1) continue;
      const auto [reduce, across] = replicas_.add_reduction(
          axis, one.stage, parameters * replicas_.gradient,
          {.name = name, .purpose = "gradients", .ready_op = launch.unit.last_backward});
      launch.reductions.push_back(reduce);
      launch.reduced += parameters;
      if (across >= 0) launch.sums_of_copies.push_back(across);
    }
  }

  /// The copies next to the collectives of units.
  void add_side_work(StageCollectives& made) {
    const UnitValues values = unit_values(resolved_.stack, resolved_.settings.precision);
    const auto work = [&](const char* name, Bytes moved) {
      if (moved <= Bytes()) return SideWork{};
      return SideWork{.name = name,
                      .duration = moving_time(resolved_.gpu, resolved_.settings.precision, moved),
                      .use = resolved_.stack.overlap_slows ? moving_bytes : GpuUse{}};
    };
    for (UnitLaunch& launch : made.units) {
      int ranks = 1;
      for (const auto& [axis, count] : launch.unit.parameters) {
        const auto found = resolved_.layout->state_shards.find(axis);
        if (found != resolved_.layout->state_shards.end()) ranks = std::max(ranks, found->second);
      }
      if (made.unit_rules.part) launch.preparation = ranks * made.unit_rules.part->value;
      const UnitCopies copies = unit_copies(made.unit_rules, launch.reduced, launch.gathered, ranks, values);
      launch.joins_gradients = made.unit_rules.buffers == UnitBuffers::tensors && copies.joined > Bytes();
      if (!launch.gathers.empty()) {
        launch.before_gather = work("copy", copies.before_gather);
        launch.after_gather = work("copy out", copies.after_gather);
        for (const std::vector<int>& gathers : {launch.gathers, launch.gathers_again}) {
          if (gathers.empty()) continue;
          collectives_.label(gathers.front()).before = launch.before_gather.name;
          collectives_.label(gathers.back()).after = launch.after_gather.name;
        }
      }
      if (launch.reductions.empty()) continue;
      launch.before_reduction = work("copy", copies.before_reduction);
      launch.after_reduction = work("convert", copies.after_reduction);
      collectives_.label(launch.reductions.front()).before = launch.before_reduction.name;
      const int last =
          launch.sums_of_copies.empty() ? launch.reductions.back() : launch.sums_of_copies.back();
      collectives_.label(last).after = launch.after_reduction.name;
    }
  }

  /// Tensors that units do not gather are gathered once they are updated.
  void add_gathers_of_whole(const RankClass& one, StageCollectives& made) {
    std::map<Axis, double> whole;
    for (const UnitLaunch& launch : made.units) {
      for (const auto& [axis, count] : launch.unit.whole) whole[axis] += count;
    }
    for (const auto& [axis, count] : whole) {
      if (replicas_.is_divided(axis, one.stage))
        made.after_update.push_back(replicas_.add_gather(axis, one.stage, count * replicas_.weight,
                                                         {.name = "small tensors", .purpose = "parameters"}));
    }
  }

  const ResolvedExperiment& resolved_;
  ReplicaCollectives& replicas_;
  LayoutCollectives& collectives_;
};

}  // namespace

void add_unit_collectives(const ResolvedExperiment& resolved, const RankClass& one,
                          ReplicaCollectives& replicas, LayoutCollectives& collectives,
                          StageCollectives& made) {
  UnitPlanner(resolved, replicas, collectives).add_units(one, made);
}

}  // namespace trainyard
