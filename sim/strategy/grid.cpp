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

constexpr std::array grid_axes{Axis::tensor, Axis::context, Axis::data, Axis::pipeline};

int& on_axis(Coordinates& coordinates, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return coordinates.tensor;
    case Axis::context:
      return coordinates.context;
    case Axis::data:
      return coordinates.data;
    default:
      return coordinates.pipeline;
  }
}

int on_axis(const Coordinates& coordinates, Axis axis) {
  Coordinates copy = coordinates;
  return on_axis(copy, axis);
}

int extent(const Grid& grid, Axis axis) {
  return on_axis(Coordinates{grid.tensor, grid.context, grid.data, grid.pipeline}, axis);
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
    for (const Axis axis : axes) on_axis(place, axis) = 0;
    int& group = group_with_first[at(index(rank_at(grid, place)))];
    if (group == none) {
      group = static_cast<int>(result.size());
      result.emplace_back();
    }
    result[at(group)].push_back(rank);
  }
  return result;
}

RankGroups replicas_among(const Grid& grid, std::span<const Rank> ranks) {
  return groups_along(grid, ranks, {Axis::context, Axis::data});
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

/// The second grid's groups.
RankGroups expert_groups(const Grid& grid, std::span<const Rank> ranks, bool are_replicas) {
  const RankGroups sharing = grid.whole_experts
                                 ? groups_along(grid, ranks, {Axis::tensor, Axis::context, Axis::data})
                                 : replicas_among(grid, ranks);
  return parts_of(sharing, at(grid.expert), are_replicas);
}

/// `ranks`: all ranks, or those of one stage for an axis within stages.
RankGroups groups_among(const Grid& grid, std::span<const Rank> ranks, Axis axis) {
  switch (axis) {
    case Axis::all:
      return {{ranks.begin(), ranks.end()}};
    case Axis::data:
      return replicas_among(grid, ranks);
    case Axis::expert:
      return expert_groups(grid, ranks, false);
    case Axis::expert_data:
      return expert_groups(grid, ranks, true);
    case Axis::layer:
    case Axis::layer_data:
      return parts_of(replicas_among(grid, ranks), at(grid.layer), axis == Axis::layer_data);
    case Axis::tensor:
    case Axis::context:
    case Axis::pipeline:
      break;
  }
  return groups_along(grid, ranks, {axis});
}

std::vector<Rank> ranks_of(const Grid& grid) {
  std::vector<Rank> result;
  for (int i = 0; i < rank_count(grid); ++i) result.push_back(Rank{i});
  return result;
}

}  // namespace

std::optional<Diagnostic> grid_refusal(const Parallelism& parallelism, int ranks) {
  const std::vector<Axis>& order = parallelism.order;
  if (!std::ranges::is_permutation(order, grid_axes)) {
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
    on_axis(result, axis) = rest % extent(grid, axis);
    rest /= extent(grid, axis);
  }
  assert(rest == 0);
  return result;
}

Rank rank_at(const Grid& grid, const Coordinates& coordinates) {
  int number = 0;
  int stride = 1;
  for (const Axis axis : grid.order) {
    number += stride * on_axis(coordinates, axis);
    stride *= extent(grid, axis);
  }
  return Rank{number};
}

RankGroups groups(const Grid& grid, Axis axis) { return groups_among(grid, ranks_of(grid), axis); }

RankGroups groups_of_stage(const Grid& grid, Axis axis, int stage) {
  const bool spans_stages = axis == Axis::all || axis == Axis::pipeline;
  if (spans_stages && grid.pipeline > 1) return {};
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
