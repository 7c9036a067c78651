// Steps of mixtures of experts: closed forms, memory and model FLOPs.

#include "engine/makespan.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "run/step_parts.hpp"
#include "schedule/step_variants.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

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
  const auto found = std::ranges::find(step_of(run).collectives, Axis::expert, &CollectiveRow::axis);
  REQUIRE(found != step_of(run).collectives.end());
  return *found;
}

double duration(const CollectiveRow& row) { return (row.end - row.start).si(); }

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
  constexpr int exchanges_of_step = 8 * 8 * 4;  // blocks, micro-batches, exchanges
  const CollectiveRow& exchange = first_exchange(run);
  CHECK(exchange.size == Bytes(2 * 2 * 1024 * 1024.0));
  CHECK(exchange.rounds == 8);
  CHECK(time_of(run, StepPart::layers) ==
        doctest::Approx(exchanges_of_step * duration(exchange)).epsilon(1e-9));
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
  CHECK(step_of(padded).time.si() == doctest::Approx(step_of(uneven).time.si()).epsilon(1e-12));
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
