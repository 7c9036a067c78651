#include "plan/plan_work.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// Two groups of a model with 10 blocks: 16 layouts with 4 micro-batches and bounds of 1, 2 ... seconds on 8
/// GPUs, and one of 100 micro-batches on 16.
PlanSpace two_groups() {
  PlanSpace space;
  space.groups.resize(2);
  space.groups[0].gpus = 8;
  space.groups[1].gpus = 16;
  for (PlanGroup& group : space.groups) group.blocks = 10;
  for (int i = 0; i < 16; ++i) {
    space.bounds.push_back({.group = 0, .step_s = 16.0 - i});
    space.layouts.push_back({.parallelism = {}, .micro_batch = 1, .micro_batches = 4});
  }
  space.bounds.push_back({.group = 1, .step_s = 1});
  space.layouts.push_back({.parallelism = {}, .micro_batch = 1, .micro_batches = 100});
  return space;
}

}  // namespace

TEST_CASE("a search plans all layouts that fit, and simulates the first of each group") {
  const Work work = work_of_search(two_groups(), true, 1);
  CHECK(work.planned_layouts == 17);
  CHECK(work.planned_ranks == 16 * 8 + 16);
  const double first = 14 * 4 * 10;
  const double second = 100 * 10;
  CHECK(work.replayed_blocks == doctest::Approx(first + second + 30.0 / 14 * second));
  CHECK(work_of_search(two_groups(), false, 1).replayed_blocks ==
        doctest::Approx(first + second + 10.0 / 14 * second));
}

TEST_CASE("the layouts with the least bounds are simulated") {
  PlanSpace space = two_groups();
  space.layouts[0].micro_batches = space.layouts[1].micro_batches = 1000;  // bounds of 16 and 15 s
  CHECK(work_of_search(space, true, 1).replayed_blocks ==
        work_of_search(two_groups(), true, 1).replayed_blocks);
}

TEST_CASE("processes share the work of a search, and a quantile doubles its simulations") {
  const Work alone = work_of_search(two_groups(), true, 1);
  const Work shared = work_of_search(two_groups(), true, 2);
  CHECK(shared.planned_layouts == alone.planned_layouts / 2);
  CHECK(shared.replayed_blocks == alone.replayed_blocks / 2);
  PlanSpace robust = two_groups();
  robust.randomness = PlanRandomness{.draws = PlanDraws(0.9, 10, 1, {})};
  CHECK(work_of_search(robust, true, 1).replayed_blocks == 2 * alone.replayed_blocks);
}

TEST_CASE("a space without layouts is no work") {
  PlanSpace space;
  space.groups.resize(1);
  CHECK(cost_of(work_of_search(space, true, 1)).time == Seconds());
}
