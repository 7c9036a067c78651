#include "config/diagnostic.hpp"
#include "engine/engine.hpp"
#include "platform/channels.hpp"
#include "platform/shipped_platform.hpp"
#include "schedule/step_plan.hpp"
#include "two_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr double kernels = 40e-3;  // of two_layers()

/// The step of 8 GPUs of a DGX-2 whose first op launches one collective.
StepPlan plan_with(const OpCommunication& communication, const Grid* grid = nullptr) {
  Trace trace = two_layers();
  trace.ops[0].communications = {communication};
  const Cluster cluster = make_cluster(shipped_platform("dgx2"), 1, 8);
  return plan_step(
      trace, GpuProfile{}, Stack{}, cluster, all_ranks(cluster), Sync{},
      CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0}, grid);
}

OpCommunication exchange(std::optional<int> waits, Axis axis = Axis::all) {
  return {.operation = Operation::all_to_all, .size = Bytes{2e9}, .axis = axis, .waits = waits};
}

Timeline closed_timeline(const StepPlan& plan) {
  return run(plan.graph, {.fidelity = Fidelity::closed, .recorded = {}});
}

double duration(const Timeline& timeline) {
  return (timeline.collectives[0].end - timeline.collectives[0].start).si();
}

}  // namespace

TEST_CASE("a collective in forward holds up the next op, or the one after those that may run beside it") {
  const Timeline blocking = closed_timeline(plan_with(exchange(0)));
  REQUIRE(duration(blocking) > 10e-3);
  CHECK(blocking.makespan.si() == doctest::Approx(kernels + duration(blocking)).epsilon(1e-12));
  const Timeline beside = closed_timeline(plan_with(exchange(1)));
  CHECK(beside.makespan.si() == doctest::Approx(kernels + duration(beside) - 8e-3).epsilon(1e-12));
  const Timeline hidden = closed_timeline(plan_with(exchange(std::nullopt)));
  CHECK(hidden.makespan.si() == doctest::Approx(std::max(kernels, 16e-3 + duration(hidden))).epsilon(1e-12));
}

TEST_CASE("a collective that begins with an op waits for the op before only") {
  OpCommunication early = exchange(1);
  early.at = LaunchTime::start;
  const Timeline timeline = closed_timeline(plan_with(early));
  CHECK(timeline.collectives[0].start == Seconds{});
  CHECK(timeline.makespan.si() == doctest::Approx(kernels + duration(timeline) - 8e-3).epsilon(1e-12));
}

TEST_CASE("collectives among groups take as long as one group alone") {
  const Grid grid{.tensor = 4, .data = 2, .order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline}};
  const StepPlan groups = plan_with(exchange(0, Axis::tensor), &grid);
  REQUIRE(groups.graph.collectives.size() == 1);
  CHECK(groups.graph.collectives[0].participants == 8);
  CHECK(groups.graph.collectives[0].group_size == 4);
  Trace trace = two_layers();
  trace.ops[0].communications = {exchange(0)};
  const Cluster four = make_cluster(shipped_platform("dgx2"), 1, 4);
  const StepPlan alone =
      plan_step(trace, GpuProfile{}, Stack{}, four, Sync{},
                CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0});
  CHECK(duration(closed_timeline(groups)) ==
        doctest::Approx(duration(closed_timeline(alone))).epsilon(1e-12));
}

TEST_CASE("gradients of a trace are reduced among the replicas of a rank's share") {
  const Cluster cluster = make_cluster(shipped_platform("dgx2"), 1, 8);
  const auto reductions = [&](const Grid& grid) {
    return plan_step(
               two_layers(), GpuProfile{}, Stack{}, cluster, all_ranks(cluster), Sync{},
               CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0},
               &grid)
        .graph.collectives;
  };
  const std::vector<Axis> order{Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
  CHECK(reductions({.tensor = 8, .data = 1, .order = order}).empty());
  const std::vector<Collective> pairs = reductions({.tensor = 4, .data = 2, .order = order});
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].group_size == 2);
  CHECK(pairs[0].label.axis == Axis::data);
}

TEST_CASE("a trace with groups needs the experiment to say which ranks they are") {
  CHECK_THROWS_AS((void)plan_with(exchange(0, Axis::tensor)), InputError);
}
