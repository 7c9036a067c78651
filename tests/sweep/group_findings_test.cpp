#include "sweep/group_findings.hpp"

#include "hand_made.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// Two models in groups of one each, two precisions, 1 and 4 GPUs. "large" is 2 and 3 times as fast with amp,
/// "small" 1.5 times.
SweepResult two_groups() {
  SweepResult result =
      made_result({"precision", "group", "model", "ranks"},
                  {{.values = {"fp32", "small", "a", "1"}, .ranks = 1, .throughput = 100},
                   {.values = {"fp32", "small", "a", "4"}, .ranks = 4, .throughput = 400, .efficiency = 1},
                   {.values = {"fp32", "large", "b", "1"}, .ranks = 1, .throughput = 10},
                   {.values = {"fp32", "large", "b", "4"}, .ranks = 4, .throughput = 32, .efficiency = 0.8},
                   {.values = {"amp", "small", "a", "1"}, .ranks = 1, .throughput = 150},
                   {.values = {"amp", "small", "a", "4"}, .ranks = 4, .throughput = 600, .efficiency = 1},
                   {.values = {"amp", "large", "b", "1"}, .ranks = 1, .throughput = 20},
                   {.values = {"amp", "large", "b", "4"}, .ranks = 4, .throughput = 96, .efficiency = 0.6}});
  result.sweep.lists = {{"fp32", "amp"}, {"small", "large"}, {"a", "b"}, {"1", "4"}};
  return result;
}

bool is(double value, double expected) { return std::abs(value / expected - 1) < 1e-12; }

}  // namespace

TEST_CASE("the effect of a key is taken in each group from pairs on the most GPUs on which both ran") {
  SweepResult result = two_groups();
  std::vector<GroupFinding> findings = group_findings(result);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].group == "small");
  CHECK(findings[0].points == 4);
  CHECK(findings[0].members == "model=a");
  REQUIRE(findings[1].effects.size() == 1);
  const GroupEffect& large = findings[1].effects.front();
  CHECK(large.key == "precision");
  CHECK(large.value == "amp");
  CHECK(large.first == "fp32");
  CHECK(large.pairs == 1);
  CHECK(is(large.throughput.median, 3));
  CHECK(is(large.efficiency->median, -0.2));
  CHECK_FALSE(large.memory);  // no row knows its memory
  CHECK(is(findings[0].effects.front().throughput.median, 1.5));
  // without the largest run of one of them the pair is the next smaller one
  result.rows[7].status = PointStatus::impossible;
  findings = group_findings(result);
  CHECK(findings[1].points == 3);
  CHECK(is(findings[1].effects.front().throughput.median, 2));
}

TEST_CASE("a group without a key's first value has effects relative to its first value that ran") {
  SweepResult result = made_result({"precision", "group", "model"},
                                   {{.values = {"fp32", "small", "a"}, .ranks = 1, .throughput = 100},
                                    {.values = {"amp", "small", "a"}, .ranks = 1, .throughput = 150},
                                    {.values = {"bf16", "small", "a"}, .ranks = 1, .throughput = 120},
                                    {.values = {"amp", "large", "b"}, .ranks = 1, .throughput = 20},
                                    {.values = {"bf16", "large", "b"}, .ranks = 1, .throughput = 50}});
  result.sweep.lists = {{"fp32", "amp", "bf16"}, {"small", "large"}, {"a", "b"}};
  std::vector<GroupFinding> findings = group_findings(result);
  CHECK(findings[0].effects.size() == 2);
  REQUIRE(findings[1].effects.size() == 1);
  CHECK(findings[1].effects.front().first == "amp");
  CHECK(findings[1].effects.front().value == "bf16");
  CHECK(is(findings[1].effects.front().throughput.median, 2.5));
  // one that failed is none
  result.rows[0].status = PointStatus::impossible;
  findings = group_findings(result);
  REQUIRE(findings[0].effects.size() == 1);
  CHECK(findings[0].effects.front().first == "amp");
  CHECK(is(findings[0].effects.front().throughput.median, 0.8));
}

TEST_CASE("a group has the scaling efficiency of its series on their most GPUs") {
  const std::vector<GroupFinding> findings = group_findings(two_groups());
  CHECK(is(findings[1].efficiency->median, 0.7));
  CHECK(is(findings[1].efficiency->low, 0.6));
  CHECK(is(findings[1].efficiency->high, 0.8));
  CHECK(is(findings[0].efficiency->median, 1));
}

TEST_CASE("keys that only change together with others have no effect, nor has a sweep without groups") {
  SweepResult result = two_groups();
  for (const GroupFinding& finding : group_findings(result))
    for (const GroupEffect& effect : finding.effects) CHECK(effect.key != "model");
  result.sweep.keys[1] = "optimizer";
  CHECK(group_findings(result).empty());
}

TEST_CASE("the strongest gain and the strongest loss of a group are told apart") {
  const std::vector<GroupFinding> findings = group_findings(two_groups());
  CHECK(strongest_effect(findings[1], true)->value == "amp");
  CHECK(strongest_effect(findings[1], false) == nullptr);
}
