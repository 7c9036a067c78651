#include "run/energy.hpp"

#include "has_all.hpp"
#include "run/run.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

GpuProfile warm_gpu() {
  GpuProfile gpu;
  gpu.name = "warm";
  gpu.tdp = {.value = Watts(300)};
  gpu.power = GpuPower{.idle = {.value = 0.2}, .vector = {.value = 0.6}, .matrix = {.value = 0.9}};
  return gpu;
}

Trace four_ops() {
  Trace trace;
  for (const OpKind kind : {OpKind::conv_forward, OpKind::elementwise, OpKind::gemm, OpKind::optimizer}) {
    trace.ops.emplace_back().kind = kind;
  }
  return trace;
}

/// 30 ms of convolution, 10 of ReLU and 20 of matrix product, then a collective, then 5 of update. What runs
/// on the other streams costs nothing more.
Program program() {
  Program program;
  program.streams[static_cast<int>(Stream::compute)] = {
      Compute{Seconds(0.030), 0}, Compute{Seconds(0.010), 1}, Compute{Seconds(0.020), 2}, Wait{0},
      Compute{Seconds(0.005), 3}};
  program.streams[static_cast<int>(Stream::communication)] = {
      Wait{0}, Compute{.duration = Seconds(0.002), .collective = 0}, Join{0}};
  return program;
}

Platform box(std::size_t gpus) {
  Platform platform;
  platform.name = "box";
  platform.gpus.assign(gpus, {});
  return platform;
}

}  // namespace

TEST_CASE("the energy of a step is that of a calculation by hand") {
  const GpuProfile gpu = warm_gpu();
  // 50 ms of matrix work at 270 W, 15 ms of other ops at 180 W, 15 ms of waiting at 60 W
  const double by_hand = 0.050 * 270 + 0.015 * 180 + 0.015 * 60;
  CHECK(gpu_energy(program(), four_ops(), Seconds(0.080), gpu).si() ==
        doctest::Approx(by_hand).epsilon(1e-9));

  TaskGraph graph;
  graph.programs = {program(), Program{}};
  graph.program_of_rank = {0, 0, 0, 1};  // the last rank only waits
  const double boxes = 2 * 500 * 0.080;
  std::vector<RankClass> classes{
      {.name = "all ranks", .ranks = {Rank{0}, Rank{1}, Rank{2}, Rank{3}}, .trace = four_ops()}};
  CHECK(step_energy(graph, classes, Seconds(0.080), gpu, 2, Watts(500)).si() ==
        doctest::Approx(3 * by_hand + 0.080 * 60 + boxes).epsilon(1e-9));

  // Another class runs the same program on ops without matrix work.
  classes.front().ranks = {Rank{0}, Rank{3}};
  classes.push_back({.name = "stage 1", .ranks = {Rank{1}, Rank{2}}, .trace = four_ops()});
  for (Op& op : classes.back().trace.ops) op.kind = OpKind::elementwise;
  const double without_matrix = 0.065 * 180 + 0.015 * 60;
  CHECK(step_energy(graph, classes, Seconds(0.080), gpu, 2, Watts(500)).si() ==
        doctest::Approx(by_hand + 0.080 * 60 + 2 * without_matrix + boxes).epsilon(1e-9));
}

TEST_CASE("the passes of a pipeline draw the power of their kernels") {
  // The kernels of program() as a segment that runs twice.
  TaskGraph graph;
  graph.segments.push_back({.program = program(), .phase = Phase::forward});
  Program stage;
  stage.streams[static_cast<int>(Stream::compute)] = {RunSegment{0}, RunSegment{0}};
  graph.programs = {stage};
  graph.program_of_rank = {0};
  const std::vector<RankClass> classes{{.name = "all ranks", .ranks = {Rank{0}}, .trace = four_ops()}};
  const double by_hand = 2 * (0.050 * 270 + 0.015 * 180) + 0.070 * 60;
  CHECK(step_energy(graph, classes, Seconds(0.200), warm_gpu(), 1, Watts(0)).si() ==
        doctest::Approx(by_hand).epsilon(1e-9));
}

TEST_CASE("a GPU never waits for less than nothing") {
  // added up in another order the ops may take a rounding error more than the step
  CHECK(gpu_energy(program(), four_ops(), Seconds(0.0649999999), warm_gpu()).si() ==
        doctest::Approx(0.050 * 270 + 0.015 * 180).epsilon(1e-12));
}

TEST_CASE("the power of a node besides its GPUs is stated, or assumed from its maximum") {
  Platform platform = box(8);
  CHECK_FALSE(node_overhead(platform, warm_gpu()));
  CHECK(has_all(*energy_unknown(platform, warm_gpu(), Trace{}), "box ", "(node.power)"));

  platform.power.max = Sourced<Watts>{Watts(3500), Provenance::specified, "a data sheet"};
  CHECK(node_overhead(platform, warm_gpu())->value == Watts(1100));
  CHECK(node_overhead(platform, warm_gpu())->provenance == Provenance::assumed);
  CHECK_FALSE(energy_unknown(platform, warm_gpu(), Trace{}));
  const std::string note = energy_note(platform, warm_gpu());
  CHECK(has_all(note, "90 % of its 300 W", "60 %", "20 %", "1.1 kW per node", "(assumed: 3.5 kW", "8 GPUs)"));

  platform.power.overhead = Sourced<Watts>{Watts(900), Provenance::measured, "a meter"};
  CHECK(*node_overhead(platform, warm_gpu()) == *platform.power.overhead);
  CHECK(has_all(energy_note(platform, warm_gpu()), "; 900 W per node"));
  CHECK_FALSE(has_all(energy_note(platform, warm_gpu()), "assumed"));
}

TEST_CASE("energy is unknown where its figures are, and says which") {
  Platform platform = box(8);
  platform.power.max = Sourced<Watts>{Watts(2000)};
  CHECK(*energy_unknown(platform, warm_gpu(), Trace{}) ==
        "box states a maximum power (node.power.max) below the TDP of its GPUs");
  platform.power.max = Sourced<Watts>{Watts(5000)};
  GpuProfile gpu = warm_gpu();
  gpu.power.reset();
  CHECK(has_all(*energy_unknown(platform, gpu, Trace{}), "warm ", "(power)"));
  gpu.tdp = {};
  CHECK(has_all(*energy_unknown(platform, gpu, Trace{}), "warm ", "(tdp)"));
}

TEST_CASE("an epoch costs nodes x price x hours, and a list price gives no rate") {
  Platform platform = box(8);
  platform.price.list = Sourced<Dollars>{Dollars(149000)};
  platform.price.date = "2020-09";
  CHECK(has_all(epoch_cost(platform, 2, Seconds(100)).error(), "box ", "(node.price.hour)", "list price"));
  platform.price.hour = Sourced<Dollars>{Dollars(24.48)};
  CHECK(epoch_cost(platform, 2, epoch_time(Run())).error() ==
        "the model or trace does not state the samples of an epoch");
  const EpochCost cost = epoch_cost(platform, 2, Seconds(1800)).value();
  CHECK(cost.per_epoch.si() == doctest::Approx(24.48).epsilon(1e-12));
  CHECK(cost.per_node_hour == Dollars(24.48));
  CHECK_FALSE(cost.is_assumed);
  platform.price.hour->provenance = Provenance::assumed;
  CHECK(epoch_cost(platform, 2, Seconds(1800)).value().is_assumed);
}

TEST_CASE("the power of a GPU is unknown in an op of which only the duration is known") {
  Platform platform = box(8);
  platform.power.overhead = Sourced<Watts>{Watts(900)};
  Trace trace;
  trace.ops.emplace_back().kind = OpKind::gemm;
  CHECK_FALSE(energy_unknown(platform, warm_gpu(), trace));
  trace.ops.emplace_back().kind = OpKind::measured;
  CHECK(has_all(*energy_unknown(platform, warm_gpu(), trace), "the trace "));
}
