// What is said of layouts before they are simulated, against the simulation of every layout.

#include "plan/layout_judge.hpp"

#include "experiment/lay_out.hpp"
#include "experiment/layout.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "schedule/step_bound.hpp"
#include "shipped_layout.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using testing::joined;
using testing::shipped_experiment;

/// Jobs of different kinds: sizes of a node, stacks, experts, long samples.
struct Case {
  std::string name;
  Overrides set;
  int global_batch;
};

Overrides small_gpt(const std::string& platform, int nodes, const std::string& stack, int blocks = 4) {
  return {{"platform", platform},
          {"nodes", std::to_string(nodes)},
          {"model", "gpt2_small"},
          {"model.gpt2.layers", std::to_string(blocks)},
          {"model.gpt2.hidden", "1024"},
          {"model.gpt2.heads", "16"},
          {"stack", stack},
          {"precision", "fp16"},
          {"software", "ideal"},
          {"optimizer", "adam"},
          {"batch_per_gpu", "1"},
          {"accumulation", "1"}};
}

std::vector<Case> cases() {
  return {{"pipelines between nodes", small_gpt("dgx_a100", 2, "megatron_lm"), 16},
          {"overlapped gradients", small_gpt("ac922", 2, "pytorch_ddp"), 16},
          {"gradients at the end", small_gpt("p3_16xlarge", 1, "megatron"), 16},
          {"unequal stages", small_gpt("p3_16xlarge", 1, "megatron", 7), 16}};
}

std::vector<LayoutAxis> fewer_values() {
  return {{"batch_per_gpu", {"2"}},
          {"parallelism.virtual_stages", {"1", "2"}},
          {"parallelism.shard", {"none", "optimizer", "gradients", "parameters"}},
          {"parallelism.recompute", {"none", "full"}}};
}

TEST_CASE("No layout is faster than its bound, nor needs less energy, nor fits where it is said not to") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const ResolvedExperiment base = shipped_experiment("bert_large_dgx_a100", one.set);
    const std::vector<LayoutAxis> axes = layout_axes(base, fewer_values(), one.global_batch);
    const std::vector<std::string> keys = layout_keys(axes);
    LayoutJudge judge(base, 0);
    double nearest = 0;
    int open = 0;
    for (const PlanLayout& layout : layouts(base, {}, axes, one.global_batch)) {
      const LayoutVerdict verdict = judge.judge(layout);
      Overrides set = one.set;
      const std::vector<std::string> values = layout_values(axes, layout);
      for (std::size_t i = 0; i < keys.size(); ++i) set.emplace_back(keys[i], values[i]);
      CAPTURE(fmt::format("{}", fmt::join(values, " ")));
      if (verdict.fate == LayoutFate::impossible) {
        CHECK_THROWS_AS(shipped_experiment("bert_large_dgx_a100", set), InputError);
        continue;
      }
      const ResolvedExperiment job = shipped_experiment("bert_large_dgx_a100", set);
      if (verdict.fate == LayoutFate::too_large) {
        CHECK_THROWS_AS(closed_pace(job), OutOfMemory);
        continue;
      }
      ++open;
      const Run run = simulate(job, {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
      CAPTURE(verdict.time.si());
      const Seconds planned = least_step(job);
      CAPTURE(planned.si());
      CHECK(verdict.time <= planned * (1 + 1e-12));
      CHECK(planned <= step_of(run).time * (1 + 1e-12));
      if (run.energy) CHECK(verdict.energy.value() <= run.energy->per_step * (1 + 1e-12));
      nearest = std::max(nearest, verdict.time / step_of(run).time);
    }
    CHECK(open > 20);
    CHECK(nearest > 0.7);  // a bound that says nothing would pass the above
  }
}

TEST_CASE("Many layouts are judged as each alone, and their memory is that of the reports") {
  const ResolvedExperiment base =
      shipped_experiment("bert_large_dgx_a100", small_gpt("dgx1v", 1, "megatron_lm"));
  const std::vector<LayoutAxis> axes =
      layout_axes(base,
                  {{"parallelism.pipeline", {"1", "2"}},
                   {"parallelism.recompute", {"none", "full"}},
                   {"parallelism.shard", {"none", "parameters", "gradients", "optimizer"}},
                   {"batch_per_gpu", {"4", "1", "16", "2", "8"}}},
                  64);
  const std::vector<PlanLayout> all = layouts(base, {}, axes, 64);
  constexpr double headroom = 0.8;
  const std::vector<LayoutVerdict> together = LayoutJudge(base, headroom).judge(all);
  REQUIRE(together.size() == all.size());
  std::map<LayoutFate, int> fates;
  ResolvedExperiment job = base;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(fmt::format("{}", fmt::join(layout_values(axes, all[i]), " ")));
    LayoutVerdict alone = LayoutJudge(base, headroom).judge(all[i]);  // nothing is known from another layout
    CHECK(together[i].fate == alone.fate);
    CHECK(together[i].reason == alone.reason);
    CHECK(together[i].time.si() == alone.time.si());
    CHECK(together[i].energy == alone.energy);
    CHECK(together[i].memory == alone.memory);
    ++fates[alone.fate];
    if (alone.fate != LayoutFate::open) continue;
    lay_out(job, *base.model, all[i].parallelism, all[i].micro_batch, all[i].micro_batches);
    const MemoryReport report = fullest(memory_reports(job));
    CHECK(alone.memory == report.peak / report.available);
  }
  for (const LayoutFate fate : {LayoutFate::open, LayoutFate::impossible, LayoutFate::too_large})
    CHECK(fates[fate] > 20);
}

/// The layout of a job with a class for each stage.
ResolvedExperiment with_all_stages(ResolvedExperiment job) {
  LaidOut laid = laid_out(layout_request(job, job.layout->parallelism));
  job.layout = std::move(laid.layout);
  job.classes = std::move(laid.classes);
  return job;
}

TEST_CASE("Stages that do the same are judged as one: bounds and memory are those of a class for each") {
  const Overrides more_experts = {{"platform", "dgx_h100"}, {"nodes", "4"},        {"model", "deepseek_v3"},
                                  {"stack", "megatron_lm"}, {"precision", "bf16"}, {"optimizer", "adam"},
                                  {"batch_per_gpu", "1"},   {"accumulation", "1"}, {"parallelism", "none"}};
  const std::vector<Case> all = {{"alike blocks", small_gpt("dgx_a100", 2, "megatron_lm", 12), 16},
                                 {"unequal stages", small_gpt("dgx_a100", 2, "megatron_lm", 14), 16},
                                 {"dense blocks, then experts", more_experts, 16}};
  for (const Case& one : all) {
    CAPTURE(one.name);
    const ResolvedExperiment base = shipped_experiment("bert_large_dgx_a100", one.set);
    const std::vector<LayoutAxis> axes = layout_axes(base,
                                                     {{"batch_per_gpu", {"1"}},
                                                      {"parallelism.tensor", {"1", "4"}},
                                                      {"parallelism.context", {"1"}},
                                                      {"parallelism.expert", {"1", "8"}},
                                                      {"parallelism.virtual_stages", {"1", "2", "3"}},
                                                      {"parallelism.recompute", {"full"}},
                                                      {"parallelism.sequence", {"true", "false"}},
                                                      {"parallelism.shard", {"none", "optimizer"}}},
                                                     one.global_batch);
    NodeTimes in_nodes(base.network, base.library);
    int merged = 0;
    ResolvedExperiment job = base;
    for (const PlanLayout& layout : layouts(base, {}, axes, one.global_batch)) {
      CAPTURE(fmt::format("{}", fmt::join(layout_values(axes, layout), " ")));
      try {
        lay_out(job, *base.model, layout.parallelism, layout.micro_batch, layout.micro_batches);
      } catch (const InputError&) {
        continue;
      }
      const ResolvedExperiment whole = with_all_stages(job);
      REQUIRE(static_cast<int>(whole.classes.size()) == layout.parallelism.pipeline);
      if (job.classes.size() < whole.classes.size()) ++merged;
      const StepBound bound = step_bound(job, in_nodes);
      const StepBound bound_of_all = step_bound(whole, in_nodes);
      CHECK(bound.time == bound_of_all.time);
      CHECK(bound.matrix / bound_of_all.matrix == doctest::Approx(1).epsilon(1e-12));
      CHECK(bound.vector / bound_of_all.vector == doctest::Approx(1).epsilon(1e-12));
      const Bytes buffers{1e9};
      CHECK(memory_peak(job, buffers).needed == memory_peak(whole, buffers).needed);
    }
    CHECK(merged > 5);
  }
}

TEST_CASE("Free memory that is asked for is taken from what a layout may use") {
  const ResolvedExperiment base =
      shipped_experiment("bert_large_dgx_a100", small_gpt("dgx1v", 1, "megatron_lm"));
  const PlanLayout layout{.parallelism = {}, .micro_batch = 1, .micro_batches = 4};
  CHECK(LayoutJudge(base, 0).judge(layout).fate == LayoutFate::open);
  CHECK(LayoutJudge(base, 0.9).judge(layout).fate == LayoutFate::too_large);
}

TEST_CASE("Layouts divide ranks, blocks and the global batch evenly") {
  const ResolvedExperiment base =
      shipped_experiment("bert_large_dgx_a100", small_gpt("dgx1v", 2, "megatron_lm"));
  const std::vector<LayoutAxis> axes = layout_axes(base, {}, 24);
  const std::vector<PlanLayout> all = layouts(base, {}, axes, 24);
  for (const int batch : {1, 2, 3, 4, 6, 8, 12, 24})
    CHECK(std::ranges::count(all, batch, &PlanLayout::micro_batch) > 0);
  for (const PlanLayout& layout : all) {
    const Parallelism& its = layout.parallelism;
    const int replicas = 16 / (its.tensor * its.pipeline * its.context);
    CHECK(16 % (its.tensor * its.pipeline * its.context) == 0);
    CHECK(4 % (its.pipeline * its.virtual_stages) == 0);
    CHECK(!its.unequal_stages);
    CHECK(replicas * layout.micro_batch * layout.micro_batches == 24);
  }
}

TEST_CASE("Blocks that no pipeline divides are cut into nearly equal chunks") {
  const auto are_unequal = [](int blocks) {
    const ResolvedExperiment base =
        shipped_experiment("bert_large_dgx_a100", small_gpt("dgx1v", 1, "megatron_lm", blocks));
    std::map<std::pair<int, int>, bool> all;  // by stages and virtual stages
    for (const PlanLayout& layout : layouts(base, {}, layout_axes(base, {}, 8), 8))
      all[{layout.parallelism.pipeline, layout.parallelism.virtual_stages}] =
          layout.parallelism.unequal_stages;
    return all;
  };
  using Cuts = std::map<std::pair<int, int>, bool>;
  // 16 chunks would be more than the 7 blocks and the two chunks that may do without.
  CHECK(
      are_unequal(7) ==
      Cuts{{{1, 1}, false}, {{2, 1}, true}, {{2, 2}, true}, {{2, 4}, true}, {{4, 1}, true}, {{4, 2}, true}});
  // One of 4 stages would have 2 blocks, one of 8 chunks 1 block, a third more than the mean.
  CHECK(are_unequal(6) == Cuts{{{1, 1}, false}, {{2, 1}, false}, {{2, 3}, false}});
}

TEST_CASE(
    "The ranks of a model without blocks are replicas, and only tokens are divided among tensor ranks") {
  const auto keys_of = [](const Overrides& set) {
    return layout_keys(layout_axes(shipped_experiment("resnet50_dgx2", set), {}, 2048));
  };
  CHECK(keys_of({{"model", "alexnet"}}) ==
        std::vector<std::string>{"parallelism.shard", "batch_per_gpu", "accumulation"});
  CHECK(keys_of({}) == std::vector<std::string>{"parallelism.pipeline", "parallelism.virtual_stages",
                                                "parallelism.recompute", "parallelism.shard", "batch_per_gpu",
                                                "parallelism.unequal_stages", "accumulation"});
}

TEST_CASE("A layout has the software factors of its model, as the job without one") {
  // The published software has factors for this model.
  const Overrides without{{"platform", "dlperf"},        {"nodes", "1"},         {"gpus", "4"},
                          {"model", "insightface_r100"}, {"stack", "oneflow"},   {"precision", "fp32"},
                          {"optimizer", "momentum"},     {"batch_per_gpu", "8"}, {"software", "published"}};
  Overrides with = without;
  with.emplace_back("parallelism.layers", "[{match: classes, split: columns, turns: none, sample: 1}]");
  const ResolvedExperiment base = shipped_experiment("resnet50_dgx2", without);
  const ResolvedExperiment job = shipped_experiment("resnet50_dgx2", with);
  for (const OpGroup group : all_op_groups)
    CHECK(job.stack.slowdown.factor[group] == base.stack.slowdown.factor[group]);
  PlanLayout layout{.parallelism = *job.settings.parallelism, .micro_batch = 8, .micro_batches = 1};
  const Run run = simulate(job, {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
  CHECK(LayoutJudge(base, 0).judge(layout).time <= step_of(run).lower_bound * (1 + 1e-12));
}

TEST_CASE("A value that is none of its key is refused") {
  const ResolvedExperiment base = shipped_experiment("bert_large_dgx_a100");
  CHECK_THROWS_AS(layout_axes(base, {{"parallelism.tensor", {"many"}}}, 8), InputError);
  CHECK_THROWS_AS(layout_axes(base, {{"parallelism.recompute", {"some"}}}, 8), InputError);
}

}  // namespace
}  // namespace trainyard
