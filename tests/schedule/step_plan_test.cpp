#include "config/document.hpp"
#include "engine/engine.hpp"
#include "engine/macro_flows.hpp"
#include "platform/shipped_platform.hpp"
#include "schedule/collective_use.hpp"
#include "schedule/jobs.hpp"
#include "schedule/step_variants.hpp"
#include "shipped_model.hpp"
#include "strategy/stack_ops.hpp"
#include "two_layers.hpp"
#include "workload/accumulate.hpp"
#include "workload/make_trace.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

StepPlan plan(const Trace& trace, int gpus, const Stack& stack = {}, const GpuProfile& gpu = {}) {
  const Cluster cluster = make_cluster(testing::shipped_platform("dgx2"), 1, gpus);
  return plan_step(
      trace, gpu, stack, cluster, Sync{},
      CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0});
}

Timeline closed(const StepPlan& plan) {
  return run(plan.graph, {.fidelity = Fidelity::closed, .recorded = {}});
}

}  // namespace

TEST_CASE("one rank computes and communicates nothing") {
  const StepPlan alone = plan(two_layers(), 1);
  CHECK(alone.graph.collectives.empty());
  CHECK(closed(alone).makespan.si() == doctest::Approx(40e-3).epsilon(1e-12));
}

TEST_CASE("the first bucket overlaps backward and the optimizer waits for the last") {
  const StepPlan two = plan(two_layers(), 2);
  REQUIRE(two.graph.collectives.size() == 2);
  CHECK(two.graph.collectives[0].label.ready_op == 2);
  CHECK(two.graph.collectives[1].label.ready_op == 3);
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
  trace.ops[3].communications = {{.operation = Operation::all_reduce, .size = Bytes{404e6}}};
  const StepPlan two = plan(trace, 2);
  REQUIRE(two.graph.collectives.size() == 1);
  CHECK(two.graph.collectives[0].size == Bytes{404e6});
  CHECK(two.graph.collectives[0].label.tensors == 2);
}

TEST_CASE("without overlap every bucket waits for the end of backward") {
  Stack stack;
  stack.overlap = false;
  for (const Collective& collective : plan(two_layers(), 2, stack).graph.collectives)
    CHECK(collective.label.ready_op == 3);
}

TEST_CASE("Horovod starts nothing between its ticks, and a tensor alone is not copied") {
  Stack stack;
  stack.fusion = Fusion{{.value = Bytes{64e6}}, {.value = Seconds{5e-3}}};
  const StepPlan two = plan(two_layers(), 2, stack);
  REQUIRE(two.graph.collectives.size() == 2);
  const Timeline timeline = closed(two);
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(25e-3).epsilon(1e-12));  // ready at 24 ms
  CHECK(timeline.collectives[1].start.si() == doctest::Approx(35e-3).epsilon(1e-12));  // ready at 32 ms
  CHECK(timeline.ranks[0].communication.si() ==
        doctest::Approx((timeline.collectives[0].end - timeline.collectives[0].start +
                         timeline.collectives[1].end - timeline.collectives[1].start)
                            .si())
            .epsilon(1e-12));
}

TEST_CASE("fused tensors are copied into the buffer before and out of it after the collective") {
  Stack stack;
  stack.fusion = Fusion{{.value = Bytes{64e6}}, {.value = Seconds{5e-3}}};
  Trace trace = two_layers();
  trace.ops[2].gradients = {{"last.bias", 0.5e6}, {"last.weight", 0.5e6}};
  const StepPlan two = plan(trace, 2, stack, round_gpu());
  const Timeline timeline = closed(two);
  const double copy = 2 * 4e6 / 1e12;  // one read and one write of 4 MB at 1 TB/s
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(25e-3 + copy).epsilon(1e-12));
  CHECK(timeline.collectives[1].start.si() == doctest::Approx(35e-3).epsilon(1e-12));
  CHECK(timeline.ranks[0].compute.si() == doctest::Approx(40e-3).epsilon(1e-12));
}

TEST_CASE("compute_scale stretches what is computed, not what a trace has measured") {
  Stack stack;
  stack.compute_scale.value = 1.5;
  Trace trace = two_layers();
  CHECK(plan(trace, 1, stack, round_gpu()).op_times[0][0].duration == Seconds{8e-3});
  trace.ops[0].duration.reset();
  trace.ops[0].kind = OpKind::elementwise;
  trace.ops[0].bytes = Bytes{1e9};
  CHECK(plan(trace, 1, stack, round_gpu()).op_times[0][0].duration.si() ==
        doctest::Approx(1.5e-3).epsilon(1e-12));
}

TEST_CASE("software overhead is added to ops whose time is computed, not to measured ones") {
  Stack stack;
  stack.op_overhead = Sourced<Seconds>{.value = Seconds{1e-3}};
  Trace trace = two_layers();
  CHECK(plan(trace, 1, stack).op_times[0][0].duration == Seconds{8e-3});
  trace.ops[0].duration.reset();
  trace.ops[0].kind = OpKind::elementwise;
  trace.ops[0].bytes = Bytes{1e9};
  const StepPlan computed = plan(trace, 1, stack, round_gpu());
  CHECK(computed.op_times[0][0].duration.si() == doctest::Approx(2e-3).epsilon(1e-12));
}

TEST_CASE("the ideal step is as fast as its bounds and no faster than its compute") {
  const StepPlan two = plan(two_layers(), 2);
  const Timeline bound =
      run(two.graph, {.fidelity = Fidelity::closed, .variant = ideal(two), .recorded = {}});
  CHECK(bound.makespan <= closed(two).makespan);
  CHECK(bound.makespan >= Seconds{40e-3});
  CHECK((bound.collectives[0].end - bound.collectives[0].start).si() ==
        doctest::Approx(two.graph.collectives[0].label.bound.si()).epsilon(1e-9));
}

TEST_CASE("a bucket takes two multiprocessors per ring and its bytes' way through the memory") {
  GpuProfile gpu = round_gpu();
  gpu.sms = Sourced<int>{80};
  Trace trace = two_layers();
  trace.ops[3].kind = OpKind::elementwise;  // its duration stays
  trace.ops[3].bytes = Bytes{1e9};
  const StepPlan two = plan(trace, 2, {}, gpu);
  const double first = 24e-3;
  const double second = closed(two).collectives[1].start.si();
  const Timeline timeline = closed(two);
  const auto taken = [&](std::size_t bucket) {
    return (timeline.collectives[bucket].end - timeline.collectives[bucket].start).si();
  };
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(first).epsilon(1e-12));
  // Of two ranks each reads its 4 MB and writes as many, and receives 4 MB that are written and read: beside
  // the last layer's kernel, which needs all of the 1 TB/s.
  const double memory = 4 * 4e6 / taken(0) / 1e12;
  CHECK(second == doctest::Approx(32e-3 + taken(0) * memory).epsilon(1e-12));
  CHECK(timeline.ranks[0].compute.si() == doctest::Approx(40e-3 + taken(0) * memory).epsilon(1e-12));

  // A kernel of which nothing but the duration is known suffers from the multiprocessors alone.
  const StepPlan unknown = plan(two_layers(), 2, {}, gpu);
  const double sms = 2 * unknown.graph.collectives[0].label.channels / 80.0;
  REQUIRE(sms > 0);
  CHECK(closed(unknown).collectives[1].start.si() == doctest::Approx(32e-3 + taken(0) * sms).epsilon(1e-12));
  CHECK(run(unknown.graph, {.fidelity = Fidelity::closed, .variant = ideal(unknown), .recorded = {}})
            .ranks[0]
            .compute == closed(plan(two_layers(), 1)).makespan);
}

TEST_CASE("kernels are as fast as alone where the stack says so, or the profile knows no multiprocessors") {
  GpuProfile gpu = round_gpu();
  const Timeline without = closed(plan(two_layers(), 2, {}, gpu));
  CHECK(without.ranks[0].compute.si() == doctest::Approx(40e-3).epsilon(1e-12));
  gpu.sms = Sourced<int>{80};
  CHECK(closed(plan(two_layers(), 2, {}, gpu)).makespan > without.makespan);
  Stack stack;
  stack.overlap_slows = false;
  CHECK(closed(plan(two_layers(), 2, stack, gpu)).makespan == without.makespan);
}

TEST_CASE("copies beside a collective are slower, and slow what computes beside them") {
  Stack stack;
  stack.fusion = Fusion{{.value = Bytes{64e6}}, {.value = Seconds{5e-3}}};
  Trace trace = two_layers();
  trace.ops[2].gradients = {{"last.bias", 0.5e6}, {"last.weight", 0.5e6}};
  trace.ops[3].kind = OpKind::elementwise;
  trace.ops[3].bytes = Bytes{1e9};
  const Timeline timeline = closed(plan(trace, 2, stack, round_gpu()));
  const double copy = 2 * 4e6 / 1e12;  // one read and one write of 4 MB at 1 TB/s, of which half is left
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(25e-3 + 2 * copy).epsilon(1e-12));
  CHECK(timeline.ranks[0].compute.si() >= 40e-3 + 2 * copy);
}

TEST_CASE("the memory traffic of a collective is what its primitives read and write") {
  const auto traffic = [](Operation operation, int messages, double bytes) {
    Pattern ring;
    for (int rank = 0; rank < 4; ++rank) ring.add_edge({Rank{rank}, Rank{(rank + 1) % 4}}, {});
    const Collective collective{
        .operation = operation,
        .size = Bytes{4e6},
        .participants = 4,
        .group_size = 4,
        .overhead = {},
        .phases = {{.pattern = 0, .messages = messages, .hops = 0, .latency = {}, .bytes = Bytes{bytes}}}};
    return memory_traffic(collective, std::span(&ring, 1)).si();
  };
  // Chunks of 1 MB of four ranks, hop by hop: send 1; recvReduceSend 3, twice; recvReduceCopySend 4;
  // recvCopySend 3, twice; recv 3.
  CHECK(traffic(Operation::all_reduce, 6, 1e6) == 20e6);
  CHECK(traffic(Operation::reduce_scatter, 3, 1e6) == 11e6);  // send 1; 3, twice; recvReduceCopy 4
  CHECK(traffic(Operation::all_gather, 3, 1e6) == 11e6);      // copySend 2; recvCopySend 3, twice; recv 3
}

TEST_CASE("five GPUs of a cube mesh reduce along a chain unless a ring was asked for") {
  const Cluster cluster = make_cluster(testing::shipped_platform("dgx1v"), 1, 5);
  const StepPlan five =
      plan_step(two_layers(), GpuProfile{}, Stack{}, cluster, Sync{},
                CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0});
  REQUIRE(five.graph.collectives.size() == 2);
  CHECK(five.graph.collectives[0].label.algorithm == Algorithm::chain);
  CHECK(five.graph.collectives[0].phases.at(0).hops == 8);
  CHECK(closed(five).makespan > Seconds{40e-3} + Bytes{400e6} / Bandwidth{22.6e9});
  CHECK_THROWS_AS(
      (void)plan_step(
          two_layers(), GpuProfile{}, Stack{}, cluster, Sync{.algorithm = Algorithm::ring},
          CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0}),
      InputError);
}

TEST_CASE("a job on some ranks of a cluster leaves the others idle, and goes on beside another's") {
  const Cluster cluster = make_cluster(testing::shipped_platform("dgx2"), 2, 8, 4);
  const auto on = [&](int first) {
    const std::vector<Rank> ranks{Rank{first}, Rank{first + 1}, Rank{first + 2}, Rank{first + 3}};
    return plan_step(
        two_layers(), GpuProfile{}, Stack{}, cluster, ranks, Sync{},
        CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0});
  };
  const StepPlan one = on(0);
  CHECK(one.graph.program_of_rank == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(one.graph.collectives[0].participants == 4);
  CHECK_FALSE(engine::may_disturb(one.graph));
  TaskGraph both = one.graph;
  add_job(both, on(4).graph);
  CHECK(engine::may_disturb(both));
  CHECK(both.job_of_rank == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(both.collectives.size() == 2 * one.graph.collectives.size());
  CHECK(run(both, {.fidelity = Fidelity::closed, .recorded = {}}).makespan == closed(one).makespan);
}

TEST_CASE("collectives of every operation that a trace names are planned as such") {
  Trace trace = two_layers();
  trace.ops[0].communications = {{.operation = Operation::all_gather, .size = Bytes{1e6}},
                                 {.operation = Operation::all_gather, .size = Bytes{2e6}}};
  trace.ops[2].communications = {{.operation = Operation::reduce_scatter, .size = Bytes{4e6}}};
  trace.ops[3].communications = {{.operation = Operation::all_to_all, .size = Bytes{8e6}}};
  const StepPlan four = plan(trace, 4);
  REQUIRE(four.graph.collectives.size() == 4);
  CHECK(four.graph.collectives[1].operation == Operation::all_gather);
  CHECK(four.graph.collectives[2].operation == Operation::reduce_scatter);
  CHECK(four.graph.collectives[3].operation == Operation::all_to_all);
  CHECK(four.graph.collectives[0].label.tensors == 0);
  CHECK(four.graph.collectives[2].label.tensors == 1);
  CHECK(closed(four).makespan > Seconds{40e-3});
}

TEST_CASE("passes over the gradients follow the last reduction, or hold all of them, on one GPU as on two") {
  Stack stack;
  stack.gradient_work = {{.name = "unscale"}, {.name = "norm", .writes = 0}};
  constexpr double passes = 3 * 4 * 101e6 / 1e12;  // of 101 M values of 4 bytes at 1 TB/s
  Trace behind = two_layers();
  add_stack_ops(behind, stack);
  CHECK(closed(plan(behind, 1, stack, round_gpu())).makespan.si() ==
        doctest::Approx(40e-3 + passes).epsilon(1e-12));
  const Timeline two = closed(plan(behind, 2, stack, round_gpu()));
  CHECK(two.makespan.si() == doctest::Approx(two.collectives[1].end.si() + passes + 8e-3).epsilon(1e-12));
  CHECK(two.collectives[0].start.si() == doctest::Approx(24e-3).epsilon(1e-12));

  for (GradientPass& pass : stack.gradient_work) pass.when = PassTime::before;
  Trace ahead = two_layers();
  add_stack_ops(ahead, stack);
  const StepPlan held = plan(ahead, 2, stack, round_gpu());
  REQUIRE(held.graph.collectives.size() == 2);
  const Timeline timeline = closed(held);
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(32e-3 + passes).epsilon(1e-12));
  CHECK(timeline.makespan.si() == doctest::Approx(timeline.collectives[1].end.si() + 8e-3).epsilon(1e-12));
}

TEST_CASE("passes of several ranks stand beside each collective and cost one rank nothing") {
  Stack stack;
  stack.gradient_work = {{.name = "flatten", .ranks = PassRanks::many, .when = PassTime::before},
                         {.name = "average", .writes = 0.5, .ranks = PassRanks::many}};
  Trace trace = two_layers();
  add_stack_ops(trace, stack);
  CHECK(trace == two_layers());
  const StepPlan two = plan(trace, 2, stack, round_gpu());
  const Timeline timeline = closed(two);
  CHECK(two.graph.collectives[0].label.before == "flatten");
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(24e-3 + 2 * 4e6 / 1e12).epsilon(1e-12));
  CHECK(timeline.makespan.si() ==
        doctest::Approx(timeline.collectives[1].end.si() + 1.5 * 4 * 100e6 / 1e12 + 8e-3).epsilon(1e-12));
}

TEST_CASE("time of the host ends a step, and comes before collectives one after the other") {
  Stack stack;
  stack.step_overhead.value = Seconds{3e-3};
  stack.collective_overhead.value = Seconds{5e-3};
  stack.overlap = false;
  Trace trace = two_layers();
  add_stack_ops(trace, stack);
  CHECK(closed(plan(trace, 1, stack)).makespan.si() == doctest::Approx(43e-3).epsilon(1e-12));
  const Timeline flat = closed(plan(trace, 2, stack));
  CHECK(flat.collectives[0].start.si() == doctest::Approx(37e-3).epsilon(1e-12));
  CHECK(flat.collectives[1].start.si() == doctest::Approx(42e-3).epsilon(1e-12));  // the first is shorter
  CHECK(flat.makespan.si() == doctest::Approx(flat.collectives[1].end.si() + 11e-3).epsilon(1e-12));

  stack.fusion = Fusion{{.value = Bytes{64e6}}, {.value = Seconds{20e-3}}};
  stack.overlap = true;
  const Timeline ticks = closed(plan(trace, 2, stack));
  CHECK(ticks.collectives[0].start.si() == doctest::Approx(45e-3).epsilon(1e-12));  // both ready before 40 ms
  CHECK(ticks.collectives[1].start.si() == doctest::Approx(50e-3).epsilon(1e-12));
}

TEST_CASE("where every micro-batch is reduced the next one waits for it") {
  Stack stack;
  stack.reduce_each_micro_batch = true;
  Trace trace = two_layers();
  accumulate(trace, 2, Bytes{4}, {.reduces_each = true});
  const StepPlan two = plan(trace, 2, stack, round_gpu());
  REQUIRE(two.graph.collectives.size() == 4);
  const Timeline timeline = closed(two);
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(24e-3).epsilon(1e-12));
  CHECK(timeline.collectives[1].start.si() == doctest::Approx(32e-3).epsilon(1e-12));
  const double added = 32e-3 + 3 * 4 * 101e6 / 1e12;
  const double second = std::max(added, timeline.collectives[1].end.si());
  CHECK(timeline.collectives[2].start.si() == doctest::Approx(second + 24e-3).epsilon(1e-12));
  CHECK(timeline.collectives[3].start.si() == doctest::Approx(second + 32e-3).epsilon(1e-12));
  CHECK(timeline.makespan.si() == doctest::Approx(timeline.collectives[3].end.si() + 8e-3).epsilon(1e-12));
}

namespace {

/// two_layers() with a batch norm of 256 channels, and a stack that broadcasts its buffers.
Trace with_batch_norm() {
  Trace trace = two_layers();
  trace.ops[2].kind = OpKind::batch_norm_backward;
  trace.ops[2].gradients = {{"norm.weight", 256}, {"norm.bias", 256}};
  return trace;
}

Stack broadcasting() {
  Stack stack;
  stack.broadcast_buffers = true;
  return stack;
}

}  // namespace

TEST_CASE("DDP broadcasts the buffers of batch norms before the first op, and copies each of them") {
  const StepPlan two = plan(with_batch_norm(), 2, broadcasting(), round_gpu());
  REQUIRE(two.graph.collectives.size() == 3);
  const Collective& statistics = two.graph.collectives[0];
  const Collective& counters = two.graph.collectives[1];
  CHECK(statistics.operation == Operation::broadcast);
  CHECK(statistics.label.name == "buffers 0");
  CHECK(statistics.label.tensors == 2);
  CHECK(statistics.size == Bytes(2 * 256 * 4));
  CHECK(counters.size == Bytes(8));
  CHECK(two.graph.collectives[2].operation == Operation::all_reduce);
  const Timeline timeline = closed(two);
  const double copy = 2 * 2048 / 1e12;  // read and written once, into one tensor and out of it
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(copy).epsilon(1e-12));
  CHECK(timeline.collectives[1].start.si() ==
        doctest::Approx(timeline.collectives[0].end.si() + copy).epsilon(1e-12));
  const double began = timeline.collectives[1].end.si() + 2 * 8 / 1e12;
  CHECK(timeline.ranks[0].compute.si() == doctest::Approx(40e-3).epsilon(1e-12));
  CHECK(timeline.collectives[2].start.si() == doctest::Approx(began + 32e-3).epsilon(1e-12));
  CHECK(closed(plan(with_batch_norm(), 2, {}, round_gpu())).collectives.size() == 1);
  CHECK(plan(with_batch_norm(), 1, broadcasting()).graph.collectives.empty());
  CHECK(plan(two_layers(), 2, broadcasting()).graph.collectives.size() == 2);
}

TEST_CASE("buffers are broadcast once per step, or before each micro-batch that reduces gradients") {
  Trace trace = with_batch_norm();
  accumulate(trace, 3, Bytes{4});
  CHECK(plan(trace, 2, broadcasting()).graph.collectives.size() == 2 + 1);
  Stack each = broadcasting();
  each.reduce_each_micro_batch = true;
  trace = with_batch_norm();
  accumulate(trace, 3, Bytes{4}, {.reduces_each = true});
  const StepPlan all = plan(trace, 2, each, round_gpu());
  REQUIRE(all.graph.collectives.size() == 3 * (2 + 1));
  const Timeline timeline = closed(all);
  for (const std::size_t i : {3U, 6U}) {
    CHECK(all.graph.collectives[i].operation == Operation::broadcast);
    CHECK(timeline.collectives[i].start >= timeline.collectives[i - 1].end);
  }
}

TEST_CASE("the broadcast buffers of ResNet-50 are those that a profile of PyTorch has") {
  const Model model = shipped_model("resnet50");
  const Trace trace = make_trace(model, 2, Precision::fp32, Optimizer::momentum);
  const StepPlan two = plan(trace, 2, broadcasting());
  CHECK(two.graph.collectives[0].size == Bytes(53120.0 * 4));
  CHECK(two.graph.collectives[1].size == Bytes(53.0 * 8));
}
