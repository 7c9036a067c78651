#include "schedule/step_plan.hpp"

#include "config/document.hpp"
#include "engine/engine.hpp"
#include "platform/load.hpp"
#include "workload/readme_keys.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// Two layers of 8 ms each way with 1 M and 100 M parameters, then an optimizer step.
Trace two_layers() {
  Trace trace{.model = "two", .batch_per_gpu = 4, .precision = Precision::fp32, .ops = {}};
  const auto add = [&](Phase phase, std::string layer, double parameters) {
    Op op;
    op.phase = phase;
    op.layer = std::move(layer);
    op.kind = OpKind::measured;
    op.duration = Seconds{8e-3};
    if (parameters > 0) op.gradients = {{op.layer + ".weight", parameters}};
    trace.ops.push_back(op);
  };
  add(Phase::forward, "first", 0);
  add(Phase::forward, "last", 0);
  add(Phase::backward, "last", 1e6);
  add(Phase::backward, "first", 100e6);
  add(Phase::optimizer, "update", 0);
  return trace;
}

StepPlan plan(const Trace& trace, int gpus, const Stack& stack = {}) {
  const Cluster cluster =
      make_cluster(load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/dgx2.yaml")), 1, gpus);
  return plan_step(trace, GpuProfile{}, stack, cluster, Sync{});
}

Timeline closed(const StepPlan& plan) {
  return run(plan.graph, {.fidelity = Fidelity::closed, .recorded = {}});
}

}  // namespace

TEST_CASE("one rank computes and communicates nothing") {
  const StepPlan alone = plan(two_layers(), 1);
  CHECK(alone.collectives.empty());
  CHECK(closed(alone).makespan.si() == doctest::Approx(40e-3).epsilon(1e-12));
}

TEST_CASE("the first bucket overlaps backward and the optimizer waits for the last") {
  const StepPlan two = plan(two_layers(), 2);
  REQUIRE(two.collectives.size() == 2);
  CHECK(two.collectives[0].ready_op == 2);
  CHECK(two.collectives[1].ready_op == 3);
  const Timeline timeline = closed(two);
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(24e-3).epsilon(1e-12));
  CHECK(timeline.collectives[1].start.si() == doctest::Approx(32e-3).epsilon(1e-12));
  CHECK(timeline.makespan.si() == doctest::Approx(timeline.collectives[1].end.si() + 8e-3).epsilon(1e-12));
}

TEST_CASE("collectives are serial: the second waits for the first") {
  Trace trace = two_layers();
  trace.ops[2].gradients[0].elements = 1e9;
  const Timeline timeline = closed(plan(trace, 2));
  CHECK(timeline.collectives[1].start == timeline.collectives[0].end);
}

TEST_CASE("communication that a trace names replaces the bucket rule") {
  Trace trace = two_layers();
  trace.ops[3].communication = Communication::all_reduce;
  trace.ops[3].communication_bytes = {Bytes{1e6}};
  const StepPlan two = plan(trace, 2);
  REQUIRE(two.collectives.size() == 1);
  CHECK(two.graph.collectives[0].size == Bytes{1e6});
  CHECK(two.collectives[0].tensors == 2);
}

TEST_CASE("without overlap every bucket waits for the end of backward") {
  Stack stack;
  stack.overlap = false;
  for (const PlannedCollective& collective : plan(two_layers(), 2, stack).collectives)
    CHECK(collective.ready_op == 3);
}

TEST_CASE("software overhead is added to ops whose time is computed, not to measured ones") {
  Stack stack;
  stack.op_overhead.value = Seconds{1e-3};
  Trace trace = two_layers();
  CHECK(plan(trace, 1, stack).op_times[0].duration == Seconds{8e-3});
  GpuProfile gpu;
  gpu.memory.bandwidth.value = Bandwidth{1e12};
  gpu.matrix.fp32.peak.value = FlopRate{1e13};
  gpu.vector.elementwise = {.value = 1.0, .provenance = Provenance::assumed, .source = "test"};
  trace.ops[0].duration.reset();
  trace.ops[0].kind = OpKind::elementwise;
  trace.ops[0].bytes = Bytes{1e9};
  const Cluster cluster =
      make_cluster(load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/dgx2.yaml")), 1, 1);
  const StepPlan computed = plan_step(trace, gpu, stack, cluster, Sync{});
  CHECK(computed.op_times[0].duration.si() == doctest::Approx(2e-3).epsilon(1e-12));
}

TEST_CASE("the ideal step is as fast as its bounds and no faster than its compute") {
  const StepPlan two = plan(two_layers(), 2);
  const Timeline bound = run(ideal(two), {.fidelity = Fidelity::closed, .recorded = {}});
  CHECK(bound.makespan <= closed(two).makespan);
  CHECK(bound.makespan >= Seconds{40e-3});
  CHECK((bound.collectives[0].end - bound.collectives[0].start).si() ==
        doctest::Approx(two.collectives[0].bound.si()).epsilon(1e-9));
}

TEST_CASE("workloads/README.md names every key of an experiment") {
  const std::string readme = readme_text("workloads/README.md");
  check_documented<Experiment>(readme);
  check_documented<Sync>(readme);
}
