#include "schedule/steady_launches.hpp"

#include "engine/engine.hpp"
#include "platform/shipped_platform.hpp"
#include "schedule/step_plan.hpp"
#include "two_layers.hpp"

#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace trainyard;

namespace {

/// Kernels of a duration each, which the host needs another time to launch.
struct Steps {
  Trace trace;
  std::vector<OpTime> times;

  void add(double kernel, double host, bool synchronises = false, int launches = 1) {
    Op op;
    op.kind = OpKind::measured;
    op.duration = Seconds{kernel};
    op.host = Seconds{host};
    op.synchronises = synchronises;
    op.launches = launches;
    trace.ops.push_back(op);
    times.push_back({.duration = Seconds{kernel}});
  }
  [[nodiscard]] SteadyLaunches steady() const {
    return steady_launches(launched_ops(trace, times), trace.host);
  }
  [[nodiscard]] std::vector<int> before_launch() const {
    return ops_before_launch(launched_ops(trace, times), trace.host);
  }
  /// The step of the engine, on some GPUs of a node.
  [[nodiscard]] double replayed(int gpus = 1) const {
    const StepPlan plan = plan_step(
        trace, testing::round_gpu(), {}, make_cluster(testing::shipped_platform("dgx1v"), 1, gpus), {},
        CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0});
    return run(plan.graph, {.fidelity = Fidelity::closed, .recorded = {}}).makespan.si();
  }
};

/// A kernel of 10 s, then short ones, each launched in 1 ms; the last one ends before the next step begins.
Steps long_and_short(int launches_of_op, int places) {
  Steps steps;
  steps.add(10, 1e-3);
  for (int i = 0; i < 2000 / launches_of_op; ++i) {
    const bool is_last = i + 1 == 2000 / launches_of_op;
    steps.add(1e-6 * launches_of_op, 1e-3 * launches_of_op, is_last, launches_of_op);
  }
  steps.trace.host.places = places;
  return steps;
}

}  // namespace

TEST_CASE("a step takes as long as its kernels or as its launches, whichever is longer") {
  Steps slow_host;
  for (int i = 0; i < 5; ++i) slow_host.add(1, 3);
  slow_host.trace.host.between_steps = Seconds{2};
  CHECK(slow_host.steady().step.si() == doctest::Approx(17));
  CHECK(slow_host.steady().waits.si() == doctest::Approx(12));
  Steps slow_gpu;
  for (int i = 0; i < 5; ++i) slow_gpu.add(3, 1);
  slow_gpu.trace.host.between_steps = Seconds{2};
  CHECK(slow_gpu.steady().step.si() == doctest::Approx(15));
  CHECK(slow_gpu.steady().waits.si() == doctest::Approx(0));
  CHECK(slow_gpu.steady().lead.si() == doctest::Approx(7));  // all of the host's work for a step
}

TEST_CASE("a lead is used up: short kernels first and long ones later are no longer than both sums") {
  Steps mixed;
  for (int i = 0; i < 4; ++i) mixed.add(1, 2);
  for (int i = 0; i < 4; ++i) mixed.add(4, 2);
  CHECK(mixed.steady().step.si() == doctest::Approx(20));
  CHECK(mixed.steady().waits.si() == doctest::Approx(0));
}

TEST_CASE("a host that waits for the GPU has no lead behind that") {
  Steps synchronised;
  synchronised.add(1, 1, true);
  for (int i = 0; i < 4; ++i) synchronised.add(1, 2);
  for (int i = 0; i < 4; ++i) synchronised.add(4, 2);
  // The first long kernel starts 10 after the host has waited; its own kernel follows in the next step.
  CHECK(synchronised.steady().step.si() == doctest::Approx(10 + 4 * 4 + 1));
}

TEST_CASE("without a host's time kernels follow each other") {
  Steps none;
  none.add(2, 0);
  none.add(3, 0);
  CHECK(none.steady().step.si() == doctest::Approx(5));
  CHECK(none.steady().waits == Seconds());
}

TEST_CASE("the host stops when 1,024 launches wait") {
  CHECK(long_and_short(1, 0).steady().step.si() == doctest::Approx(10.003));
  // While the long kernel runs 1,024 launches are made; the other 976 follow it.
  const Steps bounded = long_and_short(1, 1024);
  CHECK(bounded.steady().step.si() == doctest::Approx(10.001 + 0.976 - 0.001 + 1e-6).epsilon(1e-9));
  CHECK(bounded.steady().waits.si() == doctest::Approx(0.974001));
  CHECK(bounded.replayed() == doctest::Approx(bounded.steady().step.si()).epsilon(1e-12));
  // An op is launched as a whole.
  const Steps in_fours = long_and_short(4, 1024);
  CHECK(in_fours.steady().step.si() == doctest::Approx(bounded.steady().step.si()).epsilon(1e-3));
  CHECK(in_fours.replayed() == doctest::Approx(in_fours.steady().step.si()).epsilon(1e-12));
}

TEST_CASE("a launch waits for the op with which the queue would be full") {
  Steps steps;
  steps.add(1, 1);
  steps.add(1, 1, false, 2);
  steps.add(1, 1);
  CHECK(steps.before_launch().empty());
  steps.trace.host.places = 3;
  CHECK(steps.before_launch() == std::vector{-2, -1, 0});
  steps.trace.host.places = 1;  // fewer than an op launches
  CHECK(steps.before_launch() == std::vector{-1, 0, 1});
  steps.trace.host.places = 9;  // more than two steps launch
  CHECK(steps.before_launch() == std::vector{-7, -5, -5});
}

TEST_CASE("after the host has waited for the GPU its launch takes the latency to get there") {
  Steps steps;
  steps.add(1, 0.5, true);
  steps.add(1, 0.5);
  steps.add(1, 0.5);
  const double before = steps.steady().step.si();
  CHECK(before == doctest::Approx(3.5));
  steps.trace.host.synchronise = Seconds{0.25};
  CHECK(steps.steady().step.si() == doctest::Approx(before + 0.25));
  CHECK(steps.replayed() == doctest::Approx(before + 0.25));
}

TEST_CASE("the engine replays the steady step") {
  std::mt19937 random(1);  // its numbers are the same everywhere, unlike those of distributions
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    Steps steps;
    const int ops = 1 + below(40);
    const bool has_slow_host = below(2) == 0;
    for (int k = 0; k < ops; ++k)
      steps.add(1e-6 * (1 + below(9) * below(9)),
                below(5) == 0 ? 0 : 1e-6 * (1 + below(has_slow_host ? 60 : 20)), below(30) == 0,
                1 + below(4));
    steps.trace.host.between_steps = Seconds{1e-6 * below(50)};
    steps.trace.host.places = below(3) == 0 ? 0 : 1 + below(60);
    steps.trace.host.synchronise = Seconds{1e-6 * below(5)};
    CHECK(steps.replayed() == doctest::Approx(steps.steady().step.si()).epsilon(1e-12));
  }
}

// The reason why programs of layouts leave such hosts out.
TEST_CASE("a host that is never late on a GPU alone is never late where kernels wait for collectives") {
  std::mt19937 random(2);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Steps steps;
    const int ops = 2 + below(40);
    for (int k = 0; k < ops; ++k) {
      steps.add(1e-6 * (5 + below(60)), below(4) == 0 ? 0 : 1e-6 * below(25), k + 1 < ops && below(25) == 0,
                1 + below(3));
      Op& op = steps.trace.ops.back();
      op.phase = k < ops / 2 ? Phase::forward : k + 1 < ops ? Phase::backward : Phase::optimizer;
      if (op.phase == Phase::backward && below(2) == 0)
        op.gradients = {{"weight " + std::to_string(k), 1e3 * below(2000)}};
      if (below(6) == 0)
        op.communications.push_back(
            {.operation = Operation::all_gather, .size = Bytes(1e3 * below(5000)), .waits = below(2)});
    }
    steps.trace.host.places = below(2) == 0 ? 0 : 4 + below(20);
    steps.trace.host.synchronise = Seconds{1e-6 * below(3)};
    if (steps.steady().waits > Seconds()) continue;
    const double with = steps.replayed(2);
    for (Op& op : steps.trace.ops) op.host = {};
    CHECK(with == doctest::Approx(steps.replayed(2)).epsilon(1e-12));
    ++compared;
  }
  CHECK(compared > 30);
}
