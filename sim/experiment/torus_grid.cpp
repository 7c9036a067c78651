#include "experiment/torus_grid.hpp"

#include "strategy/grid.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace trainyard {
namespace {

/// The ranks in each all-reduce along an axis.
int ranks_of_sum(const RankLayout& layout, Axis axis) {
  const auto shards = layout.state_shards.find(axis);
  const auto ranks = group_size(layout.grid, axis);
  return shards == layout.state_shards.end() ? ranks : ranks / shards->second;
}

/// The number of ranks that sum gradients, by axis.
std::map<Axis, int> ranks_of_sums(const ResolvedExperiment& resolved) {
  if (!resolved.layout) {
    const auto& grid = resolved.grid;
    return {{Axis::data, grid ? grid->context * grid->data : resolved.cluster->ranks()}};
  }
  std::map<Axis, int> ranks;
  for (const RankClass& one : resolved.classes) {
    for (const auto& [axis, parameters] : parameters_by_axis(one.layers)) {
      if (axis && parameters > 0) ranks.emplace(*axis, ranks_of_sum(*resolved.layout, *axis));
    }
  }
  return ranks;
}

}  // namespace

void require_torus_grid(const ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  if (!settings.sync.grid) return;
  if (settings.parallelism && !resolved.layout && !resolved.grid)
    return;  // an error of the layout is reported
  const auto [columns, rows] = *settings.sync.grid;
  const long long places = static_cast<long long>(columns) * rows;
  const std::map<Axis, int> sums = ranks_of_sums(resolved);
  const auto needs_other = [&](const auto& one) {
    return one.second > 1 && one.second != sums.begin()->second;
  };
  const bool has_several = std::ranges::any_of(sums, needs_other);
  for (const auto& [axis, ranks] : sums) {
    const bool is_alone = ranks == 1 && axis != Axis::data;  // no rank holds the same experts or layers
    if (is_alone || (settings.traces && ranks > 1) || places == ranks) continue;
    throw InputError(fmt::format("a grid of {} columns and {} rows has {} places, but {} are summed over {}",
                                 columns, rows, places, traits(axis).sums, plural(ranks, "rank")),
                     has_several ? "leave out sync.grid: no grid suits groups of different sizes"
                                 : "columns x rows must be the number of ranks");
  }
}

}  // namespace trainyard
