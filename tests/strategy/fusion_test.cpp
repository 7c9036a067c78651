#include "strategy/fusion.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Stack stack_with(double threshold, double cycle_time) {
  Stack stack;
  stack.fusion = Fusion{{.value = Bytes(threshold)}, {.value = Seconds(cycle_time)}};
  return stack;
}

/// One gradient with this number of values per op; op i ends at (i + 1) ms.
struct Ready {
  std::vector<ReadyGradient> gradients;
  std::vector<Seconds> op_end;
};

Ready one_per_millisecond(const std::vector<double>& elements) {
  Ready ready;
  for (const double count : elements) {
    const int op = static_cast<int>(ready.gradients.size());
    ready.gradients.push_back({{"t" + std::to_string(op), count}, op});
    ready.op_end.push_back(Seconds((op + 1) * 1e-3));
  }
  return ready;
}

std::vector<double> sizes(const Ready& ready, const Stack& stack) {
  std::vector<double> all;
  for (const Bucket& buffer : fused_buffers(ready.gradients, ready.op_end, stack, Bytes(4)))
    all.push_back(buffer.bytes.si());
  return all;
}

}  // namespace

TEST_CASE("what is ready at a tick goes with it, what comes later waits for the next") {
  CHECK(next_tick(Seconds(4.2e-3), Seconds(5e-3)).si() == doctest::Approx(5e-3).epsilon(1e-12));
  CHECK(next_tick(Seconds(5.1e-3), Seconds(5e-3)).si() == doctest::Approx(10e-3).epsilon(1e-12));
  CHECK(next_tick(Seconds(0.25), Seconds(0.25)) == Seconds(0.25));
  CHECK(next_tick(Seconds(4.2e-3), Seconds()) == Seconds(4.2e-3));
}

TEST_CASE("tensors between two ticks are fused, up to the threshold") {
  const Ready ready = one_per_millisecond({1, 1, 1, 1, 1, 1, 1});  // 4 bytes each
  CHECK(sizes(ready, stack_with(100, 2.5e-3)) == std::vector<double>{8, 12, 8});
  CHECK(sizes(ready, stack_with(8, 2.5e-3)) == std::vector<double>{8, 8, 4, 8});
  CHECK(sizes(ready, stack_with(100, 0)) == std::vector<double>(7, 4));
}

TEST_CASE("a tensor beyond the threshold goes alone") {
  const Ready ready = one_per_millisecond({1, 100, 1});
  CHECK(sizes(ready, stack_with(8, 10e-3)) == std::vector<double>{4, 400, 4});
}

TEST_CASE("without overlap everything is ready at the end of the last gradient's op") {
  const Ready ready = one_per_millisecond({1, 1, 1});
  Stack stack = stack_with(100, 1e-3);
  stack.overlap = false;
  const auto buffers = fused_buffers(ready.gradients, ready.op_end, stack, Bytes(4));
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0].ready_after == 2);
  CHECK(buffers[0].gradients.size() == 3);
}

TEST_CASE("fusion loses and reorders nothing, whatever the times") {
  CHECK(rc::check([] {
    Ready ready;
    Seconds now;
    const int count = *rc::gen::inRange(0, 40);
    for (int i = 0; i < count; ++i) {
      now += Seconds(*rc::gen::inRange(0, 3000) * 1e-6);
      ready.op_end.push_back(now);
      ready.gradients.push_back({{std::to_string(i), 1.0 * *rc::gen::inRange(1, 50)}, i});
    }
    const double cycle = *rc::gen::element(0.0, 1e-3, 5e-3);
    const Stack stack = stack_with(100, cycle);
    int next = 0;
    for (const Bucket& buffer : fused_buffers(ready.gradients, ready.op_end, stack, Bytes(4))) {
      for (const Gradient& gradient : buffer.gradients) RC_ASSERT(gradient.tensor == std::to_string(next++));
      RC_ASSERT(buffer.ready_after == next - 1);
      RC_ASSERT(buffer.bytes <= Bytes(100) || buffer.gradients.size() == 1);
      const Seconds last = ready.op_end[static_cast<std::size_t>(next - 1)];
      RC_ASSERT(next_tick(last, Seconds(cycle)) >= last);
    }
    RC_ASSERT(next == count);
  }));
}
