#include "schedule/shard_units.hpp"

#include <algorithm>
#include <map>

namespace trainyard {

std::vector<ShardUnit> shard_units(const RankClass& one) {
  constexpr int root = -1;
  std::map<int, ShardUnit> by_block;
  for (const Layer& layer : one.layers) {
    ShardUnit& unit = by_block[layer.block.value_or(root)];
    unit.is_root = !layer.block;
    const double parameters = parameter_elements(layer);
    if (layer.summed_over && parameters > 0) unit.parameters[*layer.summed_over] += parameters;
  }
  const int end = one.passes.empty() ? 0 : one.passes.back().end;
  for (int op = 0; op < end; ++op) {
    const Op& what = one.trace.ops[at(op)];
    if (what.of_layer < 0) continue;
    ShardUnit& unit = by_block[one.layers[at(what.of_layer)].block.value_or(root)];
    if (what.phase == Phase::forward) {
      if (unit.first_forward < 0) unit.first_forward = op;
      continue;
    }
    if (unit.first_backward < 0) unit.first_backward = op;
    unit.last_backward = op;
  }
  std::vector<ShardUnit> units;
  for (const auto& [block, unit] : by_block) {
    if (!unit.parameters.empty() && unit.first_forward >= 0) units.push_back(unit);
  }
  std::ranges::stable_sort(units, {}, &ShardUnit::first_forward);
  return units;
}

}  // namespace trainyard
