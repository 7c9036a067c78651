// Steps whose ranks share the tokens of a sample: sizes of what they send, and closed forms of their time
// when every exchange takes a given time.

#include "engine/makespan.hpp"
#include "run/simulate.hpp"
#include "run/timed_plan.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

Overrides with_context(int ranks, const std::string& exchange, const Overrides& more = {}) {
  return joined({{"parallelism.context", std::to_string(ranks)}, {"parallelism.context_exchange", exchange}},
                more);
}

/// By block of each layer's attention: its time, and whether its hop, if it has one, carries two tensors.
struct RingBlock {
  Seconds time;
  double hop = 0;  ///< in keys and values
};

std::vector<RingBlock> ring_blocks(const ResolvedExperiment& resolved, const StepPlan& plan) {
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  Bytes least;
  for (const Op& op : ops) {
    for (const OpCommunication& one : op.communications) {
      if (one.axis == Axis::context && (least == Bytes{} || one.size < least)) least = one.size;
    }
  }
  std::vector<RingBlock> blocks;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != OpKind::attention) continue;
    RingBlock& block = blocks.emplace_back();
    block.time = plan.op_times.front()[i].duration;
    for (const OpCommunication& one : ops[i].communications) block.hop += one.size / least;
  }
  return blocks;
}

const Collective* of_axis(const StepPlan& plan, Axis axis, Operation operation) {
  const auto found = std::ranges::find_if(plan.graph.collectives, [&](const Collective& one) {
    return one.label.axis == axis && one.operation == operation;
  });
  return found == plan.graph.collectives.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("of a ring's hops the part that is longer than its block is exposed, and nothing else") {
  for (const int ranks : {2, 4, 8}) {
    const ResolvedExperiment resolved =
        small_decoder("dgx_a100", 1, with_context(ranks, "p2p", {{"gpus", std::to_string(ranks)}}));
    StepPlan plan = plan_layout_step(resolved);
    const std::vector<RingBlock> blocks = ring_blocks(resolved, plan);
    CHECK(blocks.size() == static_cast<std::size_t>(2 * 8 * ranks));
    const Seconds block = blocks.front().time;
    CHECK(block > Seconds{});
    const Bytes unit = of_axis(plan, Axis::context, Operation::send_recv)->size;  // of the first hop
    for (const double part : {0.0, 0.3, 0.9, 1.5, 4.0}) {
      CAPTURE(part);
      const Seconds hop = part * block;  // of keys and values
      set_times(plan, [&](const Collective& one) {
        return one.label.axis == Axis::context ? one.size / unit * hop : Seconds{};
      });
      Seconds exposed;
      for (const RingBlock& one : blocks) exposed += std::max(Seconds{}, one.hop * hop - one.time);
      const Seconds expected = kernel_time(resolved, plan) + resolved.layout->micro_batches * exposed;
      CHECK(closed_makespan(plan.graph).si() == doctest::Approx(expected.si()).epsilon(1e-12));
    }
  }
}

TEST_CASE("gathered keys and values, and all-to-alls, are exposed as a whole") {
  for (const auto& [exchange, launches] : std::map<std::string, int>{{"all_gather", 6}, {"a2a", 8}}) {
    const ResolvedExperiment resolved =
        small_decoder("dgx_a100", 1, with_context(4, exchange, {{"gpus", "4"}}));
    StepPlan plan = plan_layout_step(resolved);
    constexpr Seconds each{1e-3};
    set_times(plan,
              [&](const Collective& one) { return one.label.axis == Axis::context ? each : Seconds{}; });
    constexpr int layers = 8;
    const Seconds expected =
        kernel_time(resolved, plan) + resolved.layout->micro_batches * layers * launches * each;
    CHECK(closed_makespan(plan.graph).si() == doctest::Approx(expected.si()).epsilon(1e-12));
  }
}

TEST_CASE("attention takes as long in blocks as in one kernel but for the launches of these") {
  const auto attention = [](const Overrides& layout) {
    const ResolvedExperiment resolved = small_decoder("dgx_a100", 1, layout);
    const StepPlan plan = plan_layout_step(resolved);
    Flops flops;
    for (const Op& op : resolved.classes.front().trace.ops)
      flops += op.kind == OpKind::attention ? op.flops : Flops{};
    return flops;
  };
  const Flops whole = attention({{"parallelism.tensor", "2"}});
  for (const char* exchange : {"p2p", "all_gather", "a2a"})
    CHECK(4 * attention(with_context(4, exchange, {{"parallelism.tensor", "2"}})) == whole);
}

TEST_CASE("context ranks read one sample together, and sum gradients with the replicas") {
  const ResolvedExperiment resolved = small_decoder(
      "dgx_a100", 4, with_context(4, "p2p", {{"parallelism.tensor", "2"}, {"parallelism.pipeline", "2"}}));
  CHECK(replicas(resolved) == 2);
  CHECK(resolved.layout->grid.data == 2);
  const StepPlan plan = plan_layout_step(resolved);
  const Collective* gradients = of_axis(plan, Axis::data, Operation::all_reduce);
  REQUIRE(gradients != nullptr);
  CHECK(gradients->group_size == 2 * 4);
  CHECK(gradients->groups == 2);
  const Collective* message = of_axis(plan, Axis::pipeline, Operation::send_recv);
  REQUIRE(message != nullptr);
  CHECK(message->one_way);
  CHECK(message->size == Bytes(2.0 * 2048 * 1024 / 4));  // 2 s b h / c
  const Collective* hop = of_axis(plan, Axis::context, Operation::send_recv);
  REQUIRE(hop != nullptr);
  CHECK_FALSE(hop->one_way);
  CHECK(hop->size == Bytes(2 * 2 * (2048.0 / 4) * 1024 * 8 / (16 * 2)));  // 2 x 2 (s/c) b h g / (a t)
  CHECK(hop->group_size == 4);
  CHECK(hop->groups == 4);
  CHECK(hop->participants == 16);
}

TEST_CASE("sharded state is divided by context and data ranks") {
  const ResolvedExperiment resolved =
      small_decoder("dgx_a100", 1, with_context(4, "p2p", {{"parallelism.shard", "optimizer"}}));
  CHECK(resolved.layout->state_shards.at(Axis::data) == 8);
}

TEST_CASE("a hop goes from each rank to the next one of its context group, and from the last to the first") {
  const ResolvedExperiment resolved =
      small_decoder("dgx_a100", 1, with_context(4, "p2p", {{"parallelism.tensor", "2"}}));
  const StepPlan plan = plan_layout_step(resolved);
  const Collective* hop = of_axis(plan, Axis::context, Operation::send_recv);
  REQUIRE(hop != nullptr);
  REQUIRE(hop->phases.size() == 1);
  CHECK(hop->phases.front().messages == 1);
  CHECK(hop->phases.front().bytes == hop->size);
  const std::vector<Pattern::Edge>& edges = plan.graph.patterns[at(hop->phases.front().pattern)].edges;
  REQUIRE(edges.size() == 8);
  for (const Pattern::Edge& edge : edges) CHECK(index(edge.to) == (index(edge.from) + 2) % 8);
}

TEST_CASE("four context ranks do the model's work of one replica on as many tokens") {
  const auto run = [](const Overrides& layout) {
    return simulate(small_decoder("dgx_a100", 1, layout), {.fidelity = Fidelity::closed});
  };
  const Run alone = run({{"parallelism.recompute", "full"}});
  const Run shared = run(with_context(4, "p2p", {{"parallelism.recompute", "full"}}));
  CHECK(alone.pace.global_batch == 4 * shared.pace.global_batch);
  CHECK(alone.matrix->flops.si() == doctest::Approx(4 * shared.matrix->flops.si()).epsilon(1e-12));
  const auto kept = [](const Run& one) { return one.memory->front().terms; };
  CHECK(kept(alone).activations.si() == doctest::Approx(4 * kept(shared).activations.si()).epsilon(1e-12));
  CHECK(kept(alone).parameters == kept(shared).parameters);
}
