// Units of sharded parameters as each software gathers and reduces them: what is sent, what is copied, and
// what kernels hide if every collective takes a given time.

#include "engine/makespan.hpp"
#include "run/timed_plan.hpp"
#include "shipped_layout.hpp"
#include "strategy/shard_units.hpp"
#include "strategy/unit_copies.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace of_units {  // names of its own, since files are compiled together
namespace {

constexpr int micro_batches = 8;
constexpr int blocks = 8;
constexpr double value = 2;  // bytes of weights and gradients in fp16
constexpr double share = 7.0 / 8;

ResolvedExperiment replicas_with(const std::string& stack, const Overrides& more = {}, int nodes = 1) {
  return small_decoder(
      "dgx_a100", nodes,
      joined({{"stack", stack}, {"stack.overlap_slows", "false"}, {"stack.clip_gradients", "false"}}, more));
}

double parameters_of(const ResolvedExperiment& resolved) {
  double sum = 0;
  for (const Layer& layer : resolved.classes.front().layers) sum += parameter_elements(layer);
  return sum;
}

/// Bytes that a rank sends in the step for one operation.
double sent(const StepPlan& plan, Operation operation) {
  double sum = 0;
  for (const Collective& one : plan.graph.collectives) {
    if (one.operation == operation)
      sum += one.rounds * sent_share(one.operation, one.group_size) * one.size.si();
  }
  return sum;
}

int copies_of(const ResolvedExperiment& resolved) {
  return static_cast<int>(std::ranges::count_if(resolved.classes.front().trace.ops, is_unit_copy));
}

Seconds passes_of(const ResolvedExperiment& resolved, const StepPlan& plan, std::optional<int> block,
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

UnitRules usual() { return {}; }

}  // namespace

TEST_CASE("FSDP gathers all but the root again for backward, with SHARD_GRAD_OP nothing") {
  const ResolvedExperiment full = replicas_with("pytorch_fsdp", {{"parallelism.shard", "parameters"}});
  const double all = parameters_of(full);
  const double root = shard_units(full.classes.front(), usual()).front().parameters.at(Axis::data);
  StepPlan plan = plan_layout_step(full);
  CHECK(sent(plan, Operation::all_gather) ==
        doctest::Approx(share * micro_batches * value * (2 * all - root)));
  CHECK(sent(plan, Operation::reduce_scatter) == doctest::Approx(share * micro_batches * value * all));
  plan = plan_layout_step(replicas_with("pytorch_fsdp", {{"parallelism.shard", "gradients"}}));
  CHECK(sent(plan, Operation::all_gather) == doctest::Approx(share * micro_batches * value * all));
  CHECK(sent(plan, Operation::reduce_scatter) == doctest::Approx(share * micro_batches * value * all));
}

TEST_CASE("a model without wrapping is one unit, one by size has consecutive layers") {
  const auto units_of = [](const Overrides& more) {
    const ResolvedExperiment resolved =
        replicas_with("pytorch_fsdp", joined({{"parallelism.shard", "parameters"}}, more));
    return shard_units(resolved.classes.front(), unit_rules(resolved.stack, Sharded::parameters));
  };
  const auto whole = units_of({{"stack.units.unit", "model"}});
  REQUIRE(whole.size() == 1);
  CHECK(whole.front().is_root);
  const auto parts = units_of({{"stack.units.unit", "size"}, {"stack.units.unit_parameters", "20e6"}});
  CHECK(parts.size() > 2);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) CHECK(parts[i].parameters.at(Axis::data) >= 20e6);
}

TEST_CASE("gathers and reductions follow each other, and without a prefetch neither is hidden") {
  for (const std::string prefetch : {"pre", "post", "none"}) {
    const ResolvedExperiment resolved =
        replicas_with("megatron", {{"parallelism.shard", "parameters"},
                                   {"stack.fused_accumulation", "true"},
                                   {"stack.units.ahead", "any"},
                                   {"stack.units.backward_prefetch", prefetch}});
    CAPTURE(prefetch);
    StepPlan plan = plan_layout_step(resolved);
    const Seconds gather = 0.5 * passes_of(resolved, plan, 0, Phase::forward);
    const Seconds reduce = 0.5 * passes_of(resolved, plan, 0, Phase::backward);
    set_times(plan, [&](const Collective& one) {
      if (one.label.name == "root") return Seconds{};
      return one.operation == Operation::all_gather ? gather : reduce;
    });
    const auto embedding = [&](Phase phase) {
      const std::vector<Op>& ops = resolved.classes.front().trace.ops;
      const auto op = std::ranges::find_if(
          ops, [&](const Op& one) { return one.phase == phase && one.kind == OpKind::embedding; });
      return plan.op_times.front()[static_cast<std::size_t>(op - ops.begin())].duration;
    };
    const Seconds ends = std::max(Seconds{}, gather - embedding(Phase::forward)) +
                         std::max(Seconds{}, reduce - embedding(Phase::backward));
    const Seconds between = prefetch == "none" ? (blocks - 1) * (gather + reduce) : Seconds{};
    const Seconds expected = kernel_time(resolved, plan) + micro_batches * (ends + between);
    CHECK(closed_makespan(plan.graph).si() == doctest::Approx(expected.si()).epsilon(1e-12));
  }
}

TEST_CASE("FSDP2 copies each unit out when it is gathered, and its gradients together") {
  const ResolvedExperiment resolved = replicas_with("torchtitan", {{"parallelism.shard", "parameters"}});
  // forward: embedding, blocks, last norm with the projection; backward: the last of them stayed whole
  constexpr int units = blocks + 2;
  CHECK(copies_of(resolved) == units + (units - 1) + units);
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  const auto copy = std::ranges::find(ops, "unit 1.copy_out", &Op::layer);
  REQUIRE(copy != ops.end());
  const double parameters =
      shard_units(resolved.classes.front(), resolved.stack.units).at(1).parameters.at(Axis::data);
  CHECK(copy->bytes.si() == doctest::Approx(2 * value * parameters));
  const auto join = std::ranges::find(ops, "unit 1.join_gradients", &Op::layer);
  REQUIRE(join != ops.end());
  CHECK(join->bytes.si() == doctest::Approx((value + 4) * parameters));  // reduced in fp32
}

TEST_CASE("FSDP1 joins gradients, and casts and divides them next to the reduction") {
  const UnitValues values{.gathered = Bytes(2), .reduced = Bytes(4), .kept = Bytes(4)};
  const UnitRules rules{.buffers = UnitBuffers::flat, .divides_gradients = true};
  const UnitCopies copies = unit_copies(rules, 800, 800, 8, values);
  CHECK(copies.before_gather.si() == 100 * (4 + 2));
  CHECK(copies.copied_out.si() == 0);
  CHECK(copies.joined.si() == 800 * 4);
  CHECK(copies.before_reduction.si() == 800 * (2 + 4) + 800 * 8);
  CHECK(copies.after_reduction.si() == 100 * 8);
  CHECK(unit_copies(rules, 800, 800, 1, values).joined.si() == 0);  // nothing is divided
}

TEST_CASE("ZeRO-3 gathers small tensors after the update and reduces units together") {
  const ResolvedExperiment resolved = replicas_with("deepspeed", {{"parallelism.shard", "parameters"}});
  const StepPlan plan = plan_layout_step(resolved);
  const auto count = [&](Operation operation, const std::string& name) {
    return std::ranges::count_if(plan.graph.collectives, [&](const Collective& one) {
      return one.operation == operation && (name.empty() || one.label.name == name);
    });
  };
  CHECK(count(Operation::reduce_scatter, "") == 1);  // fewer parameters than reduce_bucket_size
  CHECK(count(Operation::all_gather, "small tensors") == 1);
  CHECK(count(Operation::all_gather, "") > 2);
}

TEST_CASE("parameters freed down to a node's part are gathered inside nodes for backward") {
  const ResolvedExperiment resolved = replicas_with(
      "torchtitan", {{"parallelism.shard", "parameters"}, {"stack.units.reshard_after_forward", "node"}}, 2);
  const StepPlan plan = plan_layout_step(resolved);
  int whole = 0;
  int inside = 0;
  for (const Collective& one : plan.graph.collectives) {
    if (one.operation != Operation::all_gather) continue;
    (one.group_size == 16 ? whole : inside) += one.rounds;
  }
  CHECK(whole == micro_batches * (blocks + 2));
  CHECK(inside == micro_batches * (blocks + 1));
}

TEST_CASE("ranks that divide gradients add up their parts of them") {
  const auto added = [](const std::string& shard) {
    const ResolvedExperiment resolved = replicas_with("pytorch_ddp", {{"parallelism.shard", shard}});
    const std::vector<Op>& ops = resolved.classes.front().trace.ops;
    const auto addition = std::ranges::find_if(ops, is_gradient_addition);
    REQUIRE(addition != ops.end());
    return addition->bytes;
  };
  CHECK(added("parameters") == added("optimizer") / 8);
}

TEST_CASE("Megatron's buckets have 40 million parameters if their reductions overlap, else there is one") {
  const auto buckets = [](const Overrides& more) {
    const StepPlan plan =
        plan_layout_step(replicas_with("megatron_lm", joined({{"parallelism.shard", "optimizer"}}, more)));
    return std::ranges::count(plan.graph.collectives, Operation::reduce_scatter, &Collective::operation);
  };
  CHECK(buckets({}) == 1);
  CHECK(buckets({{"stack.overlap", "true"}}) == 4);  // of 142 million: three of 40 and more, the rest
  CHECK(buckets({{"stack.overlap", "true"}, {"stack.bucket_first", "1 TB"}, {"stack.bucket_cap", "1 TB"}}) ==
        1);
}

TEST_CASE("replicas divide what the stack says, unless the job says it") {
  const auto shard_of = [](const Overrides& more) {
    const ResolvedExperiment resolved = replicas_with("torchtitan", more);
    return resolved.layout ? resolved.layout->parallelism.shard : Sharded::none;
  };
  CHECK(shard_of({}) == Sharded::parameters);
  CHECK(shard_of({{"parallelism.shard", "none"}}) == Sharded::none);
  CHECK(shard_of({{"parallelism.tensor", "2"}}) == Sharded::parameters);
  CHECK(shard_of({{"parallelism.tensor", "8"}}) == Sharded::none);    // one replica
  CHECK(shard_of({{"parallelism.pipeline", "2"}}) == Sharded::none);  // several stages
}

namespace {

/// The step of units whose gathers and reductions take these times, but the root's; per collective, the host
/// takes `part` for each of the 8 ranks.
struct TimedUnits {
  Seconds step, kernels;
  Seconds hidden;                   ///< of the last reductions, behind the embedding's gradients
  int gathers = 0, reductions = 0;  ///< of a micro-batch
};

TimedUnits timed_units(const Overrides& more, Seconds gather, Seconds reduce) {
  const ResolvedExperiment resolved = replicas_with(
      "megatron", joined({{"parallelism.shard", "parameters"}, {"stack.fused_accumulation", "true"}}, more));
  StepPlan plan = plan_layout_step(resolved);
  set_times(plan, [&](const Collective& one) {
    if (one.label.name == "root") return Seconds{};
    return one.operation == Operation::all_gather ? gather : reduce;
  });
  TimedUnits timed{.step = closed_makespan(plan.graph), .kernels = kernel_time(resolved, plan)};
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    if (ops[op].phase == Phase::backward && ops[op].kind == OpKind::embedding)
      timed.hidden += micro_batches * plan.op_times.front()[op].duration;
  }
  for (const Collective& one : plan.graph.collectives) {
    if (one.operation == Operation::all_gather) timed.gathers += one.rounds / micro_batches;
    if (one.operation == Operation::reduce_scatter) timed.reductions += one.rounds / micro_batches;
  }
  return timed;
}

}  // namespace

TEST_CASE("units that may not be gathered ahead of their block hide nothing") {
  const Seconds gather(1e-3);
  const Seconds reduce(2e-3);
  for (const Overrides& more :
       {Overrides{{"stack.units.ahead", "block"}}, Overrides{} /* overlap: false of the stack */}) {
    const TimedUnits timed = timed_units(more, gather, reduce);
    const Seconds exposed = (2 * blocks - 1) * gather + blocks * reduce;  // the last block stays whole
    CHECK(timed.step.si() ==
          doctest::Approx((timed.kernels + micro_batches * exposed - timed.hidden).si()).epsilon(1e-9));
  }
}

TEST_CASE("layers of a block are gathered ahead in a loop of blocks") {
  const Overrides layers{{"stack.units.unit", "size"}, {"stack.units.unit_parameters", "1"}};
  const Seconds gather(1e-6);  // shorter than the kernels that hide it
  const TimedUnits any = timed_units(joined(layers, {{"stack.units.ahead", "any"}}), gather, Seconds());
  const TimedUnits loop = timed_units(joined(layers, {{"stack.units.ahead", "block"}}), gather, Seconds());
  CHECK(loop.step > any.step);
  CHECK(loop.step < any.step + micro_batches * any.gathers * gather);
}

TEST_CASE("each tensor may have collectives of its own") {
  const TimedUnits together = timed_units({}, {}, {});
  const TimedUnits apart = timed_units({{"stack.units.each_tensor", "true"}}, {}, {});
  CHECK(together.reductions == blocks + 1);
  CHECK(apart.reductions > 6 * blocks);
  CHECK(apart.gathers > 5 * together.gathers);
}

TEST_CASE("a host that synchronises hides no reduction, and puts parts together before kernels") {
  const Overrides waits{{"stack.units.synchronises", "true"}};
  const Seconds reduce(2e-3);
  TimedUnits timed = timed_units(waits, {}, reduce);
  CHECK(timed.step.si() ==
        doctest::Approx((timed.kernels + micro_batches * blocks * reduce - timed.hidden).si()).epsilon(1e-9));
  const Seconds part(1e-7);
  timed = timed_units(joined(waits, {{"stack.units.part", "0.1 us"}}), {}, reduce);
  const Seconds more = micro_batches * timed.gathers * 8 * part;
  const Seconds without = timed.kernels + micro_batches * blocks * reduce - timed.hidden;
  CHECK(timed.step > without + 0.9 * more);  // reductions are prepared behind kernels
  CHECK(timed.step <= without + 1.001 * more);
}

TEST_CASE("parts without a host that waits are refused") {
  CHECK_THROWS_AS(timed_units({{"stack.units.part", "1 us"}}, {}, {}), InputError);
}

TEST_CASE("software that sums whole gradients uses no reduce-scatter") {
  const auto count = [](const std::string& whole, Operation operation) {
    const StepPlan plan = plan_layout_step(
        replicas_with("megatron_lm", {{"parallelism.shard", "optimizer"}, {"stack.whole_gradients", whole}}));
    return std::ranges::count_if(plan.graph.collectives, [&](const Collective& one) {
      return one.operation == operation && one.label.purpose == "gradients";
    });
  };
  CHECK(count("false", Operation::reduce_scatter) == 1);
  CHECK(count("true", Operation::reduce_scatter) == 0);
  CHECK(count("true", Operation::all_reduce) == 1);
}

}  // namespace of_units
