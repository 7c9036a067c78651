#include "schedule/steady_launches.hpp"

#include <doctest/doctest.h>
#include <vector>

using namespace trainyard;

namespace {

/// Kernels of a duration each, which the host needs another time to launch.
struct Steps {
  Trace trace;
  std::vector<OpTime> times;

  void add(double kernel, double host, bool synchronises = false) {
    Op op;
    op.host = Seconds{host};
    op.synchronises = synchronises;
    trace.ops.push_back(op);
    times.push_back({.duration = Seconds{kernel}});
  }
  [[nodiscard]] SteadyLaunches steady() const { return steady_launches(trace, times); }
};

}  // namespace

TEST_CASE("a step takes as long as its kernels or as its launches, whichever is longer") {
  Steps slow_host;
  for (int i = 0; i < 5; ++i) slow_host.add(1, 3);
  slow_host.trace.between_steps = Seconds{2};
  CHECK(slow_host.steady().step.si() == doctest::Approx(17));
  CHECK(slow_host.steady().waits.si() == doctest::Approx(12));
  Steps slow_gpu;
  for (int i = 0; i < 5; ++i) slow_gpu.add(3, 1);
  slow_gpu.trace.between_steps = Seconds{2};
  CHECK(slow_gpu.steady().step.si() == doctest::Approx(15));
  CHECK(slow_gpu.steady().waits.si() == doctest::Approx(0));
  CHECK(slow_gpu.steady().lead > Seconds{7});
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
