#include "strategy/grid.hpp"

#include "strategy/layout_refusal.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <fmt/format.h>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

/// An axis of the first grid.
struct GridAxis {
  Axis axis;
  int Grid::*ranks;
  int Coordinates::*place;
};

constexpr std::array grid_axes{GridAxis{Axis::tensor, &Grid::tensor, &Coordinates::tensor},
                               GridAxis{Axis::context, &Grid::context, &Coordinates::context},
                               GridAxis{Axis::data, &Grid::data, &Coordinates::data},
                               GridAxis{Axis::pipeline, &Grid::pipeline, &Coordinates::pipeline}};

const GridAxis& grid_axis(Axis axis) {
  const auto* const found = std::ranges::find(grid_axes, axis, &GridAxis::axis);
  assert(found != grid_axes.end());
  return *found;
}

std::string listed(const std::vector<Axis>& axes) {
  std::string names;
  for (const Axis axis : axes) {
    names += names.empty() ? "" : ", ";
    names += config::name_of(axis);
  }
  return names;
}

/// Those of `ranks` that differ in the coordinates of `axes` alone form a group.
RankGroups groups_along(const Grid& grid, std::span<const Rank> ranks, const std::vector<Axis>& axes) {
  RankGroups result;
  constexpr int none = -1;
  std::vector<int> group_with_first(at(rank_count(grid)), none);
  for (const Rank rank : ranks) {
    Coordinates place = coordinates(grid, rank);
    for (const Axis axis : axes) place.*grid_axis(axis).place = 0;
    int& group = group_with_first[at(index(rank_at(grid, place)))];
    if (group == none) {
      group = static_cast<int>(result.size());
      result.emplace_back();
    }
    result[at(group)].push_back(rank);
  }
  return result;
}

/// Of every group of ranks either `width` consecutive ones, or those with the same place among them.
RankGroups parts_of(const RankGroups& sharing, std::size_t width, bool are_replicas) {
  RankGroups result;
  for (const std::vector<Rank>& members : sharing) {
    const std::size_t count = are_replicas ? width : members.size() / width;
    const std::size_t first = result.size();
    result.resize(first + count);
    for (std::size_t i = 0; i < members.size(); ++i)
      result[first + (are_replicas ? i % width : i / width)].push_back(members[i]);
  }
  std::ranges::sort(result);
  return result;
}

/// How an axis groups ranks: those that differ in the coordinates of `along` alone; with `width` parts of
/// them, as parts_of().
struct Grouping {
  std::vector<Axis> along;
  int width = 0;
  bool are_replicas = false;
};

Grouping grouping(const Grid& grid, Axis axis) {
  const std::vector<Axis> replicas{Axis::context, Axis::data};
  const std::vector<Axis> sharing =
      grid.whole_experts ? std::vector{Axis::tensor, Axis::context, Axis::data} : replicas;
  switch (axis) {
    case Axis::all:
      return {grid.order};
    case Axis::data:
      return {replicas};
    case Axis::expert:
      return {sharing, grid.expert};
    case Axis::expert_data:
      return {sharing, grid.expert, true};
    case Axis::layer:
      return {replicas, grid.layer};
    case Axis::layer_data:
      return {replicas, grid.layer, true};
    case Axis::tensor:
    case Axis::context:
    case Axis::pipeline:
      break;
  }
  return {{axis}};
}

/// `ranks`: all ranks, or those of one stage for an axis within stages.
RankGroups groups_among(const Grid& grid, std::span<const Rank> ranks, Axis axis) {
  const auto [along, width, are_replicas] = grouping(grid, axis);
  RankGroups whole = groups_along(grid, ranks, along);
  return width == 0 ? whole : parts_of(whole, at(width), are_replicas);
}

std::vector<Rank> ranks_of(const Grid& grid) {
  std::vector<Rank> result;
  for (int i = 0; i < rank_count(grid); ++i) result.push_back(Rank{i});
  return result;
}

}  // namespace

std::optional<Diagnostic> grid_refusal(const Parallelism& parallelism, int ranks) {
  const std::vector<Axis>& order = parallelism.order;
  if (!std::ranges::is_permutation(order, grid_axes, {}, {}, &GridAxis::axis)) {
    return about_layout("order",
                        fmt::format("'order' needs tensor, context, data and pipeline once each, not {} ({})",
                                    order.empty() ? "an empty list" : listed(order), order.size()),
                        "order: [tensor, context, data, pipeline]");
  }
  const auto [t, c, p] = std::tuple(parallelism.tensor, parallelism.context, parallelism.pipeline);
  const auto model_ranks = static_cast<long long>(t) * c * p;
  if (ranks % model_ranks != 0) {
    const char* key = p > 1 ? "pipeline" : t > 1 ? "tensor" : "context";
    return about_layout(key,
                        fmt::format("{} cannot be divided by tensor {} x context {} x pipeline {} = {}",
                                    plural(ranks, "rank"), t, c, p, model_ranks),
                        model_ranks > ranks ? fmt::format("{} ranks or more, or smaller groups", model_ranks)
                                            : fmt::format("{} or {} ranks", ranks / model_ranks * model_ranks,
                                                          (ranks / model_ranks + 1) * model_ranks));
  }
  const bool is_whole = has_whole_experts(parallelism);
  const auto data = static_cast<int>(ranks / model_ranks);
  const int sharing = (is_whole ? t : 1) * c * data;
  if (sharing % parallelism.expert != 0) {
    return about_layout(
        "expert",
        fmt::format("{} expert ranks do not divide {}context {} x data {} = {} ranks", parallelism.expert,
                    is_whole ? fmt::format("tensor {} x ", t) : "", c, data, sharing),
        fmt::format("expert: {}", std::gcd(parallelism.expert, sharing)));
  }
  if (const int group = parallelism.layer_group.value_or(1); c * data % group != 0)
    return about_layout(
        "layer_group",
        fmt::format("groups of {} that divide layers do not divide {} replicas", group, c * data),
        fmt::format("layer_group: {}", std::gcd(group, c * data)));
  return std::nullopt;
}

Grid make_grid(const Parallelism& parallelism, int ranks) {
  if (auto wrong = grid_refusal(parallelism, ranks)) throw InputError({*std::move(wrong)});
  const int data = ranks / (parallelism.tensor * parallelism.context * parallelism.pipeline);
  return {.tensor = parallelism.tensor,
          .context = parallelism.context,
          .data = data,
          .pipeline = parallelism.pipeline,
          .expert = parallelism.expert,
          .layer = parallelism.layer_group.value_or(parallelism.context * data),
          .order = parallelism.order,
          .whole_experts = has_whole_experts(parallelism)};
}

int rank_count(const Grid& grid) { return grid.tensor * grid.context * grid.data * grid.pipeline; }

Coordinates coordinates(const Grid& grid, Rank rank) {
  Coordinates result;
  int rest = index(rank);
  for (const Axis axis : grid.order) {
    const auto& [_, ranks, place] = grid_axis(axis);
    result.*place = rest % grid.*ranks;
    rest /= grid.*ranks;
  }
  assert(rest == 0);
  return result;
}

Rank rank_at(const Grid& grid, const Coordinates& coordinates) {
  int number = 0;
  int stride = 1;
  for (const Axis axis : grid.order) {
    const auto& [_, ranks, place] = grid_axis(axis);
    number += stride * coordinates.*place;
    stride *= grid.*ranks;
  }
  return Rank{number};
}

RankGroups groups(const Grid& grid, Axis axis) { return groups_among(grid, ranks_of(grid), axis); }

int group_size(const Grid& grid, Axis axis) {
  const auto [along, width, are_replicas] = grouping(grid, axis);
  int ranks = 1;
  for (const Axis one : along) ranks *= grid.*grid_axis(one).ranks;
  if (width == 0) return ranks;
  return are_replicas ? ranks / width : width;
}

RankGroups groups_of_stage(const Grid& grid, Axis axis, int stage) {
  if (traits(axis).spans_stages && grid.pipeline > 1) return {};
  return groups_among(grid, ranks_of_stage(grid, stage), axis);
}

std::vector<Rank> ranks_of_stage(const Grid& grid, int stage) {
  std::vector<Rank> result;
  for (int data = 0; data < grid.data; ++data) {
    for (int context = 0; context < grid.context; ++context) {
      for (int tensor = 0; tensor < grid.tensor; ++tensor)
        result.push_back(rank_at(grid, {tensor, context, data, stage}));
    }
  }
  std::ranges::sort(result);
  return result;
}

RankGroups stage_pairs(const Grid& grid, int from, int to) {
  RankGroups result;
  if (from == to) return result;
  for (const Rank rank : ranks_of_stage(grid, from)) {
    Coordinates other = coordinates(grid, rank);
    other.pipeline = to;
    result.push_back({rank, rank_at(grid, other)});
  }
  return result;
}

}  // namespace trainyard
