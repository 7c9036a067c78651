#include "strategy/grid.hpp"

#include "errors_of.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

std::vector<Rank> ranks_from(int first, int stride, int count) {
  std::vector<Rank> result;
  for (int i = 0; i < count; ++i) result.push_back(Rank{first + i * stride});
  return result;
}

std::vector<Rank> members(const RankGroups& all) {
  std::vector<Rank> result;
  for (const auto& group : all) result.insert(result.end(), group.begin(), group.end());
  std::ranges::sort(result);
  return result;
}

/// Sizes that form a grid, in any order of axes.
std::pair<Parallelism, int> any_parallelism() {
  const auto size = [] { return *rc::gen::inRange(1, 5); };
  Parallelism parallelism{.tensor = size(), .pipeline = size(), .context = size()};
  const int data = size();
  std::vector<int> experts;
  for (int e = 1; e <= data * parallelism.context; ++e) {
    if (data * parallelism.context % e == 0) experts.push_back(e);
  }
  parallelism.expert = *rc::gen::elementOf(experts);
  const int turns = *rc::gen::inRange(0, 24);
  for (int i = 0; i < turns; ++i) std::ranges::next_permutation(parallelism.order);
  return {parallelism, parallelism.tensor * parallelism.pipeline * parallelism.context * data};
}

constexpr Axis every_axis[] = {Axis::all,     Axis::data,   Axis::tensor,
                               Axis::context, Axis::expert, Axis::pipeline};

std::string key_of_refusal(const Parallelism& parallelism, int ranks) {
  const auto errors = errors_of([&] { static_cast<void>(make_grid(parallelism, ranks)); });
  return errors.empty() ? "" : errors.front().key_path + " " + facts_in(errors.front().message);
}

}  // namespace

TEST_CASE("the groups of rank 0 are those of Megatron's order") {
  const Grid grid = make_grid({.tensor = 8, .pipeline = 8}, 1024);
  CHECK(grid.data == 16);
  CHECK(groups(grid, Axis::tensor).front() == ranks_from(0, 1, 8));
  CHECK(groups(grid, Axis::data).front() == ranks_from(0, 8, 16));
  CHECK(groups(grid, Axis::pipeline).front() == ranks_from(0, 128, 8));
  CHECK(groups(grid, Axis::context).size() == 1024);
  CHECK(groups(grid, Axis::all) == RankGroups{ranks_from(0, 1, 1024)});
  CHECK(stage_pairs(grid, 0, 7).front() == std::vector{Rank{0}, Rank{896}});
}

TEST_CASE("data outside the pipeline: neighbours in the pipeline are near, replicas far") {
  const Grid grid = make_grid(
      {.tensor = 8, .pipeline = 8, .order = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data}}, 1024);
  CHECK(groups(grid, Axis::pipeline).front() == ranks_from(0, 8, 8));
  CHECK(groups(grid, Axis::data).front() == ranks_from(0, 64, 16));
}

TEST_CASE("replicas of the weights are spread over context and data ranks, experts over consecutive ones") {
  const Grid grid = make_grid({.tensor = 2, .pipeline = 2, .context = 2, .expert = 4}, 32);
  CHECK(grid.data == 4);
  CHECK(groups(grid, Axis::context).front() == ranks_from(0, 2, 2));
  CHECK(groups(grid, Axis::data).front() == ranks_from(0, 2, 8));
  CHECK(groups(grid, Axis::expert).front() == ranks_from(0, 2, 4));
  CHECK(groups(grid, Axis::expert_data).front() == std::vector{Rank{0}, Rank{8}});
}

TEST_CASE("groups that divide layers are consecutive replicas, those of a part are spread") {
  const Grid grid = make_grid({.tensor = 2, .layer_group = 4}, 16);
  CHECK(groups(grid, Axis::layer).front() == ranks_from(0, 2, 4));
  CHECK(groups(grid, Axis::layer_data).front() == std::vector{Rank{0}, Rank{8}});
  const Grid whole = make_grid({.tensor = 2}, 16);
  CHECK(groups(whole, Axis::layer) == groups(whole, Axis::data));
  CHECK(groups(whole, Axis::layer_data).size() == 16);
}

TEST_CASE("the groups of every axis are ascending and hold every rank once, in any order of the axes") {
  CHECK(rc::check([] {
    const auto [parallelism, ranks] = any_parallelism();
    const Grid grid = make_grid(parallelism, ranks);
    for (const Axis axis : every_axis) {
      const RankGroups all = groups(grid, axis);
      RC_ASSERT(members(all) == ranks_from(0, 1, ranks));
      RC_ASSERT(std::ranges::is_sorted(all));
      for (const auto& group : all) {
        RC_ASSERT(std::ranges::is_sorted(group));
        RC_ASSERT(group.size() == all.front().size());
      }
    }
    RC_ASSERT(groups(grid, Axis::tensor).front().size() == at(grid.tensor));
    RC_ASSERT(groups(grid, Axis::context).front().size() == at(grid.context));
    RC_ASSERT(groups(grid, Axis::data).front().size() == at(grid.context * grid.data));
    RC_ASSERT(groups(grid, Axis::pipeline).front().size() == at(grid.pipeline));
    RC_ASSERT(groups(grid, Axis::expert).front().size() == at(grid.expert));
    RC_ASSERT(groups(grid, Axis::expert_data).front().size() == at(grid.context * grid.data / grid.expert));
  }));
}

TEST_CASE("coordinates and ranks are each other's inverse, and a pipeline's ranks hold its stages in turn") {
  CHECK(rc::check([] {
    const auto [parallelism, ranks] = any_parallelism();
    const Grid grid = make_grid(parallelism, ranks);
    for (int i = 0; i < ranks; ++i) RC_ASSERT(rank_at(grid, coordinates(grid, Rank{i})) == Rank{i});
    for (const auto& group : groups(grid, Axis::pipeline)) {
      for (int stage = 0; stage < grid.pipeline; ++stage)
        RC_ASSERT(coordinates(grid, group[at(stage)]).pipeline == stage);
    }
  }));
}

TEST_CASE("the groups of the stages are together those of the axis, unless they span stages") {
  CHECK(rc::check([] {
    const auto [parallelism, ranks] = any_parallelism();
    const Grid grid = make_grid(parallelism, ranks);
    for (const Axis axis : every_axis) {
      RankGroups together;
      for (int stage = 0; stage < grid.pipeline; ++stage) {
        const RankGroups here = groups_of_stage(grid, axis, stage);
        RC_ASSERT(here.empty() || members(here) == ranks_of_stage(grid, stage));
        together.insert(together.end(), here.begin(), here.end());
      }
      std::ranges::sort(together);
      const bool spans_stages = grid.pipeline > 1 && (axis == Axis::all || axis == Axis::pipeline);
      RC_ASSERT(together == (spans_stages ? RankGroups{} : groups(grid, axis)));
    }
  }));
}

TEST_CASE("pairs of stages differ in the stage alone and hold every rank of both once") {
  CHECK(rc::check([] {
    const auto [parallelism, ranks] = any_parallelism();
    const Grid grid = make_grid(parallelism, ranks);
    const int last = grid.pipeline - 1;
    const RankGroups pairs = stage_pairs(grid, last, 0);
    RC_ASSERT(pairs.size() == (last == 0 ? 0 : at(ranks / grid.pipeline)));
    for (const auto& pair : pairs) {
      Coordinates there = coordinates(grid, pair[0]);
      RC_ASSERT(there.pipeline == last);
      there.pipeline = 0;
      RC_ASSERT(coordinates(grid, pair[1]) == there);
    }
  }));
}

TEST_CASE("what forms no grid is refused with its numbers") {
  CHECK(key_of_refusal({.tensor = 8, .pipeline = 3}, 64) == "parallelism.pipeline 64 8 1 3 = 24");
  CHECK(key_of_refusal({.tensor = 16}, 8) == "parallelism.tensor 8 16 1 1 = 16");
  CHECK(key_of_refusal({.context = 3}, 8) == "parallelism.context 8 1 3 1 = 3");
  CHECK(key_of_refusal({.expert = 3}, 8) == "parallelism.expert 3 1 8 = 8");
  CHECK(key_of_refusal({.layer_group = 3}, 8) == "parallelism.layer_group 3 8");
  CHECK(key_of_refusal({.order = {Axis::tensor, Axis::data}}, 8) == "parallelism.order 'order' 2");
  CHECK(key_of_refusal({.order = {Axis::tensor, Axis::tensor, Axis::data, Axis::pipeline}}, 8) ==
        "parallelism.order 'order' 4");
  CHECK(key_of_refusal({.tensor = 1'000'000, .pipeline = 1'000'000, .context = 1'000'000}, 8) !=
        "");  // their product is beyond 2^31
}
