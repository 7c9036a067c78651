#include "sweep/sweep_groups.hpp"

#include "hand_made.hpp"
#include "sweep/choice.hpp"
#include "sweep/scaling.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace trainyard;

namespace {

using Words = std::vector<std::string>;

SweepResult four_points() {
  SweepResult result = made_result({"model", "nodes"}, {{.values = {"b", "1"}, .throughput = 1},
                                                        {.values = {"a", "1"}, .throughput = 2},
                                                        {.values = {"b", "2"}, .throughput = 3},
                                                        {.values = {"a", "2"}, .throughput = 4}});
  result.efficiency_errors = {ErrorBounds{-1, 1}, {}, ErrorBounds{-2, 2}, {}};
  return result;
}

}  // namespace

TEST_CASE("groups are in the order of the key's list, and in that of the rows without one") {
  SweepResult result = four_points();
  const auto values = [&](const char* key) {
    Words all;
    for (const SweepGroup& group : groups_of(result, key)) all.push_back(group.value);
    return all;
  };
  CHECK(values("model") == Words{"b", "a"});
  CHECK(values("nodes") == Words{"1", "2"});
  result.sweep.lists = {{"a", "c", "b"}, {"2", "1"}};
  CHECK(values("model") == Words{"a", "b"});
  CHECK(values("nodes") == Words{"2", "1"});
  CHECK_THROWS_AS(groups_of(result, "gpus"), std::out_of_range);
}

TEST_CASE("a group has its rows with the numbers of their points, and its value is set") {
  SweepResult result = four_points();
  result.sweep.lists = {{"a", "b"}, {"1", "2"}};
  const std::vector<SweepGroup> groups = groups_of(result, "model");
  REQUIRE(groups.size() == 2);
  const SweepResult& group = groups[1].result;
  CHECK(group.sweep.keys == Words{"nodes"});
  CHECK(group.sweep.lists == std::vector<Words>{{"1", "2"}});
  REQUIRE(group.rows.size() == 2);
  CHECK(group.rows[0].point == 0);
  CHECK(group.rows[1].point == 2);
  CHECK(group.sweep.points[2] == Words{"2"});
  CHECK(value_at(group.sweep, group.sweep.points[2], "model") == "b");
  CHECK(figure(group, group.rows[1], "throughput_samples_per_s") == 3);
  REQUIRE(group.efficiency_errors.size() == 2);
  CHECK(group.efficiency_errors[1]->high == 2);
  CHECK(group.sweep.points[1].empty());
}

TEST_CASE("efficiencies of a group are relative to the smallest run of the whole sweep") {
  SweepResult result = made_result({"gpus"}, {{.values = {"8"}, .ranks = 8, .throughput = 80},
                                              {.values = {"16"}, .ranks = 16, .throughput = 120}});
  result.sweep.set.emplace_back("global_batch", "256");
  const std::vector<SweepGroup> groups = groups_of(result, "gpus");
  REQUIRE(groups.size() == 2);
  CHECK(efficiencies(groups[0].result) == std::vector<std::optional<double>>{1});
  CHECK(efficiencies(groups[1].result) == std::vector<std::optional<double>>{0.75});
  result.sweep.goal.efficiency_min = 0.8;
  const SweepResult kept = groups_of(result, "gpus")[1].result;
  CHECK(choose(kept, std::vector<Needs>{{.time_s = 1, .cost_usd = {}, .energy_j = {}}}).pareto.empty());
}

TEST_CASE("sorted by group, rows keep their order within it") {
  const SweepResult sorted = sorted_by_group(four_points(), "model");
  std::vector<std::size_t> points;
  for (const SweepRow& row : sorted.rows) points.push_back(row.point);
  CHECK(points == std::vector<std::size_t>{0, 2, 1, 3});
  CHECK(sorted.efficiency_errors.size() == 4);
  CHECK(sorted.efficiency_errors[1]->high == 2);
  CHECK(sorted.sweep.keys == Words{"model", "nodes"});
}
