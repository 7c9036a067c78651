#include "strategy/shard_units.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace trainyard {
namespace {

constexpr int root = -1;
constexpr int behind_blocks = std::numeric_limits<int>::max();

/// The number of each layer's unit.
std::vector<int> unit_numbers(const std::vector<Layer>& layers, const UnitRules& rules) {
  std::vector<int> numbers;
  numbers.reserve(layers.size());
  bool has_blocks = false;
  double open = 0;  // parameters of the unit that is filled
  int number = 0;
  for (const Layer& layer : layers) {
    has_blocks = has_blocks || layer.block;
    if (rules.of == UnitOf::model)
      numbers.push_back(root);
    else if (rules.of == UnitOf::size) {
      if (open >= rules.parameters) {
        open = 0;
        ++number;
      }
      open += parameter_elements(layer);
      numbers.push_back(number);
    } else {
      numbers.push_back(layer.block.value_or(rules.splits_root && has_blocks ? behind_blocks : root));
    }
  }
  return numbers;
}

/// Whether a unit stays whole after forward. `behind`: parameters of the units after it.
bool stays_whole(const ShardUnit& unit, bool is_last, double behind, const UnitRules& rules) {
  if (unit.is_root || rules.reshard_after_forward == ReshardAfterForward::never) return true;
  // Both passes of the units after it come before it is used again.
  if (rules.live_parameters) return 2 * behind <= *rules.live_parameters;
  return is_last && rules.reshard_after_forward == ReshardAfterForward::except_last;
}

double sum_of(const std::map<Axis, double>& values) {
  double sum = 0;
  for (const auto& [axis, count] : values) sum += count;
  return sum;
}

void add_layer(ShardUnit& unit, const Layer& layer, double whole_below) {
  if (!layer.summed_over) return;
  for (const Parameter& tensor : layer.parameters) {
    if (tensor.elements <= 0) continue;
    unit.parameters[*layer.summed_over] += tensor.elements;
    unit.tensors.emplace_back(*layer.summed_over, tensor.elements);
    if (tensor.elements < whole_below) unit.whole[*layer.summed_over] += tensor.elements;
  }
}

void add_op(ShardUnit& unit, const Op& what, int op) {
  if (what.phase == Phase::forward) {
    if (unit.first_forward < 0) {
      unit.first_forward = op;
      unit.first_layer = what.of_layer;
    }
    unit.last_forward = op;
    return;
  }
  if (unit.first_backward < 0) unit.first_backward = op;
  unit.last_backward = op;
  if (what.role == OpRole::recompute)
    unit.last_repeat = op;
  else if (unit.first_gradient < 0)
    unit.first_gradient = op;
}

}  // namespace

std::vector<ShardUnit> shard_units(const RankClass& one, const UnitRules& rules) {
  const std::vector<int> numbers = unit_numbers(one.layers, rules);
  std::map<int, ShardUnit> by_number;
  for (std::size_t i = 0; i < one.layers.size(); ++i) {
    ShardUnit& unit = by_number[numbers[i]];
    if (unit.tensors.empty()) unit.block = one.layers[i].block;
    unit.is_root = numbers[i] == root && (!rules.splits_root || rules.of != UnitOf::block);
    add_layer(unit, one.layers[i], rules.whole_below);
  }
  const int end = one.passes.empty() ? 0 : one.passes.back().end;
  for (int op = 0; op < end; ++op) {
    const Op& what = one.trace.ops[at(op)];
    if (what.of_layer >= 0) add_op(by_number[numbers[at(what.of_layer)]], what, op);
  }
  std::vector<ShardUnit> units;
  for (const auto& [number, unit] : by_number) {
    if (unit.parameters.empty() || unit.first_forward < 0) continue;
    units.push_back(unit);
    // The last projection's parameters are used next.
    if (number == behind_blocks) units.back().is_kept = true;
  }
  std::ranges::stable_sort(units, {}, &ShardUnit::first_forward);
  double behind = 0;
  for (std::size_t i = units.size(); i-- > 0;) {
    units[i].is_kept = units[i].is_kept || stays_whole(units[i], i + 1 == units.size(), behind, rules);
    behind += sum_of(units[i].parameters);
  }
  return units;
}

double gathered_parameters(const ShardUnit& unit, const std::map<Axis, int>& shards) {
  double sum = 0;
  for (const auto& [axis, count] : unit.parameters) {
    const auto ranks = shards.find(axis);
    if (ranks == shards.end() || ranks->second < 2) continue;
    const auto whole = unit.whole.find(axis);
    sum += count - (whole == unit.whole.end() ? 0 : whole->second);
  }
  return sum;
}

double live_parameters(const std::vector<ShardUnit>& units, const UnitRules& rules,
                       const std::map<Axis, int>& shards) {
  double all = 0;
  double kept = 0;
  double largest = 0;  // of the units that are freed
  double whole = 0;
  for (const ShardUnit& unit : units) {
    const double gathered = gathered_parameters(unit, shards);
    all += gathered;
    const bool is_gone = rules.splits_root && &unit == &units.front();  // before others are gathered ahead
    if (unit.is_kept)
      kept += gathered;
    else if (!is_gone)
      largest = std::max(largest, gathered);
    for (const auto& [axis, count] : unit.whole) whole += count;
  }
  if (rules.live_parameters)
    return whole + std::min(all, std::max(*rules.live_parameters, kept + 2 * largest));
  if (!rules.limit_gathers) return whole + all;
  const bool has_last = rules.reshard_after_forward == ReshardAfterForward::except_last && !units.empty() &&
                        !units.back().is_root;
  const double last = has_last ? gathered_parameters(units.back(), shards) : 0;
  return whole + kept - last + std::min(all - kept + last, 2 * std::max(largest, last));
}

}  // namespace trainyard
