// Steps of mixtures of experts: closed forms, memory and model FLOPs.

#include "engine/in_child.hpp"
#include "engine/makespan.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "run/step_parts.hpp"
#include "schedule/step_variants.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

Run closed_mixture(const Overrides& layout, int nodes = 1) {
  return simulate(small_mixture("dgx_a100", nodes, layout), {.fidelity = Fidelity::closed});
}

double time_of(const Run& run, StepPart part) {
  for (const PartTime& one : step_parts(run).parts) {
    if (one.part == part) return one.time.si();
  }
  return 0;
}

const CollectiveRow& first_exchange(const Run& run) {
  const auto found = std::ranges::find_if(step_of(run).collectives, [](const CollectiveRow& row) {
    return row.axis == Axis::expert && row.size > Bytes(1e6);  // no numbers or probabilities
  });
  REQUIRE(found != step_of(run).collectives.end());
  return *found;
}

double duration(const CollectiveRow& row) { return (row.end - row.start).si(); }

/// Of all exchanges of a step, or of one operation.
double exchange_time(const Run& run, std::optional<Operation> operation = {}) {
  double sum = 0;
  for (const CollectiveRow& row : step_of(run).collectives) {
    if (row.axis == Axis::expert && (!operation || row.operation == *operation))
      sum += row.rounds * duration(row);
  }
  return sum;
}

double kernels_of(const Run& run) {
  return closed_makespan(step_of(run).plan.graph, undisturbed(without_network(step_of(run).plan))).si();
}

const Overrides over_eight{{"parallelism.expert", "8"}};

}  // namespace

TEST_CASE("on an ideal network a step with experts is the time of its kernels") {
  const Run run = closed_mixture(over_eight);
  const Step& step = step_of(run);
  Seconds kernels;
  for (const OpRow& op : step.classes.front().ops) kernels += op.runs * op.duration;
  CHECK(closed_makespan(step.plan.graph, undisturbed(without_network(step.plan))).si() ==
        doctest::Approx(kernels.si()).epsilon(1e-9));
}

TEST_CASE("a step is its kernels and the exchanges between them, if nothing else is exchanged") {
  // Eight ranks, each with one expert; gradients of the others are reduced after backward.
  const Run run = closed_mixture(joined(over_eight, {{"stack.overlap", "false"}}));
  const Step& step = step_of(run);
  const double kernels = closed_makespan(step.plan.graph, undisturbed(without_network(step.plan))).si();
  const double reductions = time_of(run, StepPart::communication);
  CHECK(time_of(run, StepPart::layers) > 0);
  CHECK(step.time.si() ==
        doctest::Approx(kernels + time_of(run, StepPart::layers) + reductions).epsilon(1e-9));
  const CollectiveRow& exchange = first_exchange(run);
  CHECK(exchange.size == Bytes(2 * 2 * 1024 * 1024.0));
  CHECK(exchange.rounds == 8);
  CHECK(time_of(run, StepPart::layers) == doctest::Approx(exchange_time(run)).epsilon(1e-9));
}

TEST_CASE("deepep's steps between and in nodes take as long as the longer one") {
  const Run run = closed_mixture(joined(over_eight, {{"stack.overlap", "false"},
                                                     {"stack.overlap_slows", "false"},
                                                     {"gpus_per_node", "4"},
                                                     {"parallelism.dispatcher", "deepep"}}),
                                 2);
  const double exposed = time_of(run, StepPart::layers);
  double longer = exchange_time(run, Operation::all_gather);
  std::vector<const CollectiveRow*> tokens;
  for (const CollectiveRow& row : step_of(run).collectives) {
    if (row.axis == Axis::expert && row.operation == Operation::all_to_all) tokens.push_back(&row);
  }
  REQUIRE(tokens.size() % 2 == 0);
  for (std::size_t i = 0; i < tokens.size(); i += 2) {
    CHECK(tokens[i]->start == tokens[i + 1]->start);
    longer += tokens[i]->rounds * std::max(duration(*tokens[i]), duration(*tokens[i + 1]));
  }
  CHECK(exposed == doctest::Approx(longer).epsilon(1e-9));
}

TEST_CASE(
    "two micro-batches hide each other's exchanges, but for the first forward and the last backward pass") {
  const Overrides alone = joined(over_eight, {{"stack.overlap", "false"},
                                              {"stack.overlap_slows", "false"},
                                              {"batch_per_gpu", "16"},
                                              {"platform.node.speed.nvlink", "50"}});
  const Run plain = closed_mixture(alone);
  const Run paired = closed_mixture(joined(alone, {{"parallelism.expert_overlap", "micro_batches"}}));
  CHECK(kernels_of(paired) == doctest::Approx(kernels_of(plain)).epsilon(1e-9));
  const double micro_batches = step_of(plain).classes.front().ops.front().runs;
  const double tokens = exchange_time(plain) - exchange_time(plain, Operation::all_gather);
  const double exposed = step_of(plain).time.si() - tokens * (1 - 1 / micro_batches);
  CHECK(step_of(paired).time.si() == doctest::Approx(exposed).epsilon(1e-9));
}

TEST_CASE("bars of passes that take turns show the kernels of the backward pass") {
  const Run run = closed_mixture(
      joined(over_eight, {{"stack.overlap", "false"}, {"parallelism.expert_overlap", "micro_batches"}}));
  const auto& ops = step_of(run).classes.front().ops;
  bool has_backward = false;
  for (const TimelineEvent& bar : step_of(run).bars) {
    if (bar.segment < 0) continue;
    REQUIRE(bar.op + bar.ops <= static_cast<int>(ops.size()));
    if (bar.category != "backward") continue;
    has_backward = true;
    for (int i = bar.op; i < bar.op + bar.ops; ++i)
      CHECK(ops[static_cast<std::size_t>(i)].phase == Phase::backward);
  }
  CHECK(has_backward);
}

TEST_CASE("exchanges that overlap take the same time in every fidelity") {
  for (const char* overlap : {"none", "micro_batches"}) {
    // without overlap: closed forms do not know that gradients share links with exchanges
    const Overrides layout = joined(over_eight, {{"gpus_per_node", "4"},
                                                 {"accumulation", "3"},
                                                 {"stack.overlap", "false"},
                                                 {"parallelism.dispatcher", "deepep"},
                                                 {"parallelism.expert_overlap", overlap}});
    const ResolvedExperiment resolved = small_mixture("dgx_a100", 2, layout);
    const Seconds closed = step_of(simulate(resolved, {.fidelity = Fidelity::closed})).time;
    const double flow =
        in_child<double>([&] { return step_of(simulate(resolved, {.fidelity = Fidelity::flow})).time.si(); });
    CHECK(closed.si() == doctest::Approx(flow).epsilon(1e-9));
  }
}

TEST_CASE("twice the experts per token are twice the bytes of an exchange") {
  const CollectiveRow one = first_exchange(closed_mixture(over_eight));
  const CollectiveRow other =
      first_exchange(closed_mixture(joined(over_eight, {{"model.decoder.experts_per_token", "4"}})));
  CHECK(other.size == 2 * one.size);
  CHECK(duration(one) >= one.bound.si());
  CHECK(other.bound.si() == doctest::Approx(2 * one.bound.si()));
}

TEST_CASE("an imbalance lengthens a step, and model FLOPs stay") {
  const Run even = closed_mixture(over_eight);
  const Run uneven = closed_mixture(joined(over_eight, {{"parallelism.routing.imbalance", "2"}}));
  CHECK(step_of(uneven).time > step_of(even).time);
  CHECK(uneven.matrix->flops.si() == doctest::Approx(even.matrix->flops.si()).epsilon(1e-12));
  const Run padded = closed_mixture(joined(over_eight, {{"parallelism.routing.capacity_factor", "2"}}));
  const double counts = exchange_time(uneven, Operation::all_gather);  // known with a capacity
  CHECK(step_of(padded).time.si() + counts == doctest::Approx(step_of(uneven).time.si()).epsilon(1e-9));
}

TEST_CASE("a seed gives the same step again, and another seed another one") {
  const auto time = [](const char* seed) {
    return step_of(closed_mixture(joined(over_eight, {{"parallelism.routing.skew", "0.7"},
                                                      {"parallelism.routing.seed", seed}})))
        .time;
  };
  CHECK(time("3") == time("3"));
  // Each rank has one expert, so that the fullest one is the same in any order.
  CHECK(time("3").si() == doctest::Approx(time("4").si()).epsilon(1e-12));
  const auto with_pairs = [](const char* seed) {
    return step_of(closed_mixture({{"parallelism.expert", "4"},
                                   {"parallelism.routing.skew", "0.7"},
                                   {"parallelism.routing.seed", seed}}))
        .time;
  };
  CHECK(with_pairs("3") != with_pairs("4"));
}

TEST_CASE("activations do not shrink with the ranks that share experts, their state does") {
  const auto terms = [](const char* expert) {
    return fullest(memory_reports(small_mixture(
                       "dgx_a100", 1, {{"parallelism.expert", expert}, {"parallelism.shard", "optimizer"}})))
        .terms;
  };
  const MemoryTerms few = terms("2");
  const MemoryTerms many = terms("8");
  CHECK(many.activations == few.activations);
  // 16-bit weights of 8 blocks with 8 experts, of which a rank has 4 or 1
  const double expert = 8 * 3 * 1024.0 * 2048;
  CHECK(few.parameters.si() - many.parameters.si() == doctest::Approx(2 * 3 * expert));
  // State: 12 bytes over 4 replicas, or over none
  CHECK(many.optimizer_state.si() == doctest::Approx(few.optimizer_state.si()));
}
