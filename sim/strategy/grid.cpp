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
#include <string_view>
#include <utility>

namespace trainyard {

namespace {

/// Whether the first grid has an axis.
bool has_place(const GridAxis& axis) { return axis.place != nullptr; }

const GridAxis& grid_axis(Axis axis) {
  const auto* const found = std::ranges::find(grid_axes, axis, &GridAxis::axis);
  assert(found != grid_axes.end());
  return *found;
}

/// "tensor, context"; `last` before the last one.
std::string listed(const std::vector<Axis>& all, std::string_view last = ", ") {
  std::string names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    names += i == 0 ? "" : i + 1 < all.size() ? ", " : last;
    names += config::name_of(all[i]);
  }
  return names;
}

/// The place with this number among all, or among those of stage 0.
Coordinates placed(const Grid& grid, int number, bool among_stages) {
  Coordinates result;
  for (const Axis axis : grid.order) {
    if (axis == Axis::pipeline && !among_stages) continue;
    const auto& [_, given, ranks, place] = grid_axis(axis);
    result.*place = number % grid.*ranks;
    number /= grid.*ranks;
  }
  assert(number == 0);
  return result;
}

/// Reported at the pipeline, or at the first axis with several ranks.
Diagnostic indivisible(const Parallelism& parallelism, int ranks, long long model_ranks) {
  std::string_view key;
  std::string product;
  for (const GridAxis& one : grid_axes) {
    if (!has_place(one) || one.given == nullptr) continue;
    const int degree = parallelism.*one.given;
    product += fmt::format("{}{} {}", product.empty() ? "" : " x ", config::name_of(one.axis), degree);
    if (degree > 1 && (key.empty() || traits(one.axis).spans_stages)) key = config::name_of(one.axis);
  }
  return about_layout(
      std::string(key),
      fmt::format("{} cannot be divided by {} = {}", plural(ranks, "rank"), product, model_ranks),
      model_ranks > ranks ? fmt::format("{} ranks or more, or smaller groups", model_ranks)
                          : fmt::format("{} or {} ranks", ranks / model_ranks * model_ranks,
                                        (ranks / model_ranks + 1) * model_ranks));
}

/// Groups of the ranks that differ in the coordinates of `axes` alone.
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

/// Parts of every group of ranks: `width` consecutive ranks, or the ranks with the same place in these parts.
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

long long ranks_of_replica(const Parallelism& parallelism) {
  long long ranks = 1;
  for (const GridAxis& one : grid_axes) {
    if (has_place(one) && one.given != nullptr) ranks *= parallelism.*one.given;
  }
  return ranks;
}

std::optional<Diagnostic> grid_refusal(const Parallelism& parallelism, int ranks) {
  const std::vector<Axis>& order = parallelism.order;
  std::vector<Axis> needed;
  for (const GridAxis& one : grid_axes) {
    if (has_place(one)) needed.push_back(one.axis);
  }
  if (!std::ranges::is_permutation(order, needed)) {
    return about_layout("order",
                        fmt::format("'order' needs {} once each, not {} ({})", listed(needed, " and "),
                                    order.empty() ? "an empty list" : listed(order), order.size()),
                        fmt::format("order: [{}]", listed(Parallelism{}.order)));
  }
  const long long model_ranks = ranks_of_replica(parallelism);
  if (ranks % model_ranks != 0) return indivisible(parallelism, ranks, model_ranks);
  const bool is_whole = has_whole_experts(parallelism);
  const auto data = static_cast<int>(ranks / model_ranks);
  const int sharing = (is_whole ? parallelism.tensor : 1) * parallelism.context * data;
  if (sharing % parallelism.expert != 0) {
    return about_layout(
        "expert",
        fmt::format("{} expert ranks do not divide {}context {} x data {} = {} ranks", parallelism.expert,
                    is_whole ? fmt::format("tensor {} x ", parallelism.tensor) : "", parallelism.context,
                    data, sharing),
        fmt::format("expert: {}", std::gcd(parallelism.expert, sharing)));
  }
  const int replicas = parallelism.context * data;
  if (const int group = parallelism.layer_group.value_or(1); replicas % group != 0)
    return about_layout(
        "layer_group",
        fmt::format("groups of {} that divide layers do not divide {} replicas", group, replicas),
        fmt::format("layer_group: {}", std::gcd(group, replicas)));
  return std::nullopt;
}

Grid make_grid(const Parallelism& parallelism, int ranks) {
  if (auto wrong = grid_refusal(parallelism, ranks)) throw InputError({*std::move(wrong)});
  Grid grid;
  for (const GridAxis& one : grid_axes)
    grid.*one.ranks = one.given == nullptr ? static_cast<int>(ranks / ranks_of_replica(parallelism))
                                           : parallelism.*one.given;
  grid.layer = parallelism.layer_group.value_or(grid.context * grid.data);
  grid.order = parallelism.order;
  grid.whole_experts = has_whole_experts(parallelism);
  return grid;
}

int rank_count(const Grid& grid) {
  int ranks = 1;
  for (const GridAxis& one : grid_axes) {
    if (has_place(one)) ranks *= grid.*one.ranks;
  }
  return ranks;
}

Coordinates coordinates(const Grid& grid, Rank rank) { return placed(grid, index(rank), true); }

Rank rank_at(const Grid& grid, const Coordinates& coordinates) {
  int number = 0;
  int stride = 1;
  for (const Axis axis : grid.order) {
    const auto& [_, given, ranks, place] = grid_axis(axis);
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
  for (int number = 0; number < rank_count(grid) / grid.pipeline; ++number) {
    Coordinates place = placed(grid, number, false);
    place.pipeline = stage;
    result.push_back(rank_at(grid, place));
  }
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
