// State that replicas divide: what is sent for it, and how much of that kernels hide, when every collective
// takes a given time.

#include "engine/makespan.hpp"
#include "run/timed_plan.hpp"
#include "shipped_layout.hpp"
#include "strategy/shard_units.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr int micro_batches = 8;
constexpr double value = 2;  // bytes of weights and gradients in fp16

Overrides sharded(const std::string& what, const Overrides& more = {}) {
  return joined({{"parallelism.shard", what}}, more);
}

/// Eight replicas of a decoder on one node, or sixteen on two.
ResolvedExperiment replicas_of_decoder(const Overrides& layout, int nodes = 1) {
  return small_decoder("dgx_a100", nodes,
                       joined({{"stack.overlap_slows", "false"},
                               {"stack.fused_accumulation", "true"},
                               {"stack.clip_gradients", "false"}},
                              layout));
}

double parameters_of(const ResolvedExperiment& resolved) {
  double sum = 0;
  for (const Layer& layer : resolved.classes.front().layers) sum += parameter_elements(layer);
  return sum;
}

/// Bytes that a rank sends in a step in rings of its replicas.
double sent_by_rank(const StepPlan& plan) {
  double sum = 0;
  for (const Collective& one : plan.graph.collectives)
    sum += one.rounds * sent_share(one.operation, one.group_size) * one.size.si();
  return sum;
}

double sent_with(const Overrides& layout) {
  return sent_by_rank(plan_layout_step(replicas_of_decoder(layout)));
}

/// Kernel times of a unit in one phase of a micro-batch.
Seconds unit_time(const ResolvedExperiment& resolved, const StepPlan& plan, std::optional<int> block,
                  Phase phase) {
  const RankClass& one = resolved.classes.front();
  Seconds sum;
  for (std::size_t op = 0; op < one.trace.ops.size(); ++op) {
    const Op& what = one.trace.ops[op];
    if (what.phase == phase && what.of_layer >= 0 && one.layers[at(what.of_layer)].block == block)
      sum += plan.op_times.front()[op].duration;
  }
  return sum;
}

/// The time of the word embedding's op.
Seconds embedding_time(const ResolvedExperiment& resolved, const StepPlan& plan, Phase phase) {
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  const auto op = std::ranges::find_if(
      ops, [&](const Op& one) { return one.phase == phase && one.kind == OpKind::embedding; });
  REQUIRE(op != ops.end());
  return plan.op_times.front()[static_cast<std::size_t>(op - ops.begin())].duration;
}

bool is_root(const Collective& one) { return one.label.name == "root"; }

}  // namespace

TEST_CASE("a rank sends what ZeRO's paper counts, and parameters of the root and the last unit once") {
  const ResolvedExperiment resolved = replicas_of_decoder(sharded("parameters"));
  const double all = parameters_of(resolved);
  constexpr double share = 7.0 / 8;
  CHECK(sent_with({{"parallelism.recompute", "full"}}) == doctest::Approx(share * 2 * value * all));
  CHECK(sent_with(sharded("optimizer")) == doctest::Approx(share * 2 * value * all));
  CHECK(sent_with(sharded("gradients")) == doctest::Approx(share * (micro_batches + 1) * value * all));
  const std::vector<ShardUnit> units = shard_units(resolved.classes.front(), resolved.stack.units);
  REQUIRE(units.size() == 9);
  CHECK(units.front().is_root);
  const double gathered_once =
      units.front().parameters.at(Axis::data) + units.back().parameters.at(Axis::data);
  CHECK(sent_with(sharded("parameters")) ==
        doctest::Approx(share * micro_batches * value * (3 * all - gathered_once)));
}

TEST_CASE("with copies on two nodes, rings stay inside nodes but for the sums of each GPU's shard") {
  const ResolvedExperiment resolved =
      replicas_of_decoder(sharded("optimizer", {{"parallelism.shard_over", "node"}}), 2);
  const StepPlan plan = plan_layout_step(resolved);
  const double all = value * parameters_of(resolved);
  const auto only = [&](Operation operation) {
    const auto found = std::ranges::find(plan.graph.collectives, operation, &Collective::operation);
    REQUIRE(found != plan.graph.collectives.end());
    return *found;
  };
  REQUIRE(plan.graph.collectives.size() == 3);
  const Collective inside = only(Operation::reduce_scatter);
  CHECK(inside.size.si() == doctest::Approx(all));
  CHECK(inside.group_size == 8);
  CHECK(inside.groups == 2);
  const Collective across = only(Operation::all_reduce);
  CHECK(across.size.si() == doctest::Approx(all / 8));
  CHECK(across.group_size == 2);
  CHECK(across.groups == 8);
  CHECK(only(Operation::all_gather).size.si() == doctest::Approx(all));
  CHECK(only(Operation::all_gather).group_size == 8);
  CHECK(resolved.layout->state_shards.at(Axis::data) == 8);
}

TEST_CASE("of gathered units the first is exposed, and what the embedding does not hide of the second") {
  const ResolvedExperiment resolved =
      replicas_of_decoder(sharded("parameters", {{"stack.units.ahead", "any"}}));
  StepPlan plan = plan_layout_step(resolved);
  const Seconds forward = unit_time(resolved, plan, 0, Phase::forward);
  const Seconds backward = unit_time(resolved, plan, 0, Phase::backward);
  const Seconds first = embedding_time(resolved, plan, Phase::forward);
  const Seconds last = embedding_time(resolved, plan, Phase::backward);
  CHECK(first < 0.5 * forward);
  for (const double part : {0.0, 0.01, 0.3, 0.6}) {  // of what hides a unit's collectives
    for (const double of_root : {0.0, 3.0}) {
      const Seconds gather = part * forward;
      const Seconds reduce = part * backward;
      const Seconds gather_root = of_root * forward;
      const Seconds reduce_root = of_root * backward;
      set_times(plan, [&](const Collective& one) {
        if (one.operation == Operation::all_gather) return is_root(one) ? gather_root : gather;
        return is_root(one) ? reduce_root : reduce;
      });
      const Seconds exposed = micro_batches * (gather_root + std::max(Seconds{}, gather - first) +
                                               std::max(Seconds{}, reduce - last) + reduce_root);
      CHECK(closed_makespan(plan.graph).si() ==
            doctest::Approx((kernel_time(resolved, plan) + exposed).si()).epsilon(1e-12));
    }
  }
}

TEST_CASE("without overlap ZeRO-2 waits for a reduction in every micro-batch and a gathering at the end") {
  const ResolvedExperiment resolved = replicas_of_decoder(sharded("gradients"));
  StepPlan plan = plan_layout_step(resolved);
  constexpr Seconds reduce{3e-3};
  constexpr Seconds gather{2e-3};
  set_times(plan, [&](const Collective& one) {
    return one.operation == Operation::reduce_scatter ? reduce : gather;
  });
  const Seconds expected = kernel_time(resolved, plan) + micro_batches * reduce + gather;
  CHECK(closed_makespan(plan.graph).si() == doctest::Approx(expected.si()).epsilon(1e-12));
}

TEST_CASE("parameters gathered beside the first forward pass expose the first bucket alone") {
  const auto exposed = [](bool overlaps, Seconds gather) {
    const ResolvedExperiment resolved =
        replicas_of_decoder(sharded("optimizer", {{"stack.overlap_parameters", overlaps ? "true" : "false"},
                                                  {"stack.bucket_first", "16 MB"},
                                                  {"stack.bucket_cap", "16 MB"}}));
    StepPlan plan = plan_layout_step(resolved);
    int gathers = 0;
    set_times(plan, [&](const Collective& one) {
      if (one.operation != Operation::all_gather) return Seconds{};
      ++gathers;
      return gather;
    });
    CHECK(gathers > 8);
    return std::pair{(closed_makespan(plan.graph) - kernel_time(resolved, plan)) / gather, gathers};
  };
  constexpr Seconds shorter_than_kernels{1e-9};
  CHECK(exposed(true, shorter_than_kernels).first == doctest::Approx(1).epsilon(1e-3));
  const auto [whole, gathers] = exposed(false, shorter_than_kernels);
  CHECK(whole == doctest::Approx(gathers).epsilon(1e-3));
  constexpr Seconds longer_than_a_pass{1};
  const double partly = exposed(true, longer_than_a_pass).first;
  CHECK(partly < gathers);
  CHECK(partly > gathers - 1);  // one pass hides less than one of them
}

TEST_CASE("the norm of the gradients is summed once, before the update") {
  const ResolvedExperiment resolved = replicas_of_decoder(
      sharded("optimizer", {{"parallelism.tensor", "2"}, {"stack.clip_gradients", "true"}}));
  StepPlan plan = plan_layout_step(resolved);
  constexpr Seconds each{1e-3};
  set_times(plan,
            [&](const Collective& one) { return one.label.name == "gradient norm" ? each : Seconds{}; });
  CHECK(closed_makespan(plan.graph).si() ==
        doctest::Approx((kernel_time(resolved, plan) + each).si()).epsilon(1e-12));
}
