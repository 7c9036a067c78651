// The range of results of a run whose inputs are ranges.

#include "run/input_ranges.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// A step of 100 samples.
StepSpeed speed(double seconds) { return {.time = Seconds{seconds}, .throughput = 100 / seconds}; }

InputRange input(const std::string& key, double at_low, double at_high) {
  return {.key = key,
          .range = "1..8",
          .low = "1",
          .high = "8",
          .value = "8",
          .at_low = speed(at_low),
          .at_high = speed(at_high)};
}

}  // namespace

TEST_CASE("the results of one input range over its ends and the run") {
  const InputRanges one = combined({input("nics", 2, 1)}, speed(1));
  CHECK(one.are_simulated);
  CHECK(one.slowest == speed(2));
  CHECK(one.fastest == speed(1));
  // Neither end need be an extreme.
  const InputRanges between = combined({input("nics", 2, 3)}, speed(1));
  CHECK(between.fastest == speed(1));
  CHECK(between.slowest == speed(3));
}

TEST_CASE("the results of two inputs are the slowest and fastest combinations of ends") {
  const InputRanges two = combined({input("nics", 2, 1), input("nic", 1, 0.5)}, speed(1),
                                   {speed(5), speed(2), speed(2.5), speed(0.25)});
  CHECK(two.are_simulated);
  CHECK(two.slowest == speed(5));
  CHECK(two.fastest == speed(0.25));
}

TEST_CASE("the effects of three inputs are combined in quadrature, each direction for itself") {
  const InputRanges three = combined(
      {input("a", std::exp(0.3), 1), input("b", std::exp(0.4), std::exp(-0.1)), input("c", 1, 1)}, speed(1));
  CHECK_FALSE(three.are_simulated);
  CHECK(three.slowest.time.si() == doctest::Approx(std::exp(0.5)).epsilon(1e-12));
  CHECK(three.fastest.time.si() == doctest::Approx(std::exp(-0.1)).epsilon(1e-12));
  CHECK(three.slowest.throughput == doctest::Approx(100 * std::exp(-0.5)).epsilon(1e-12));
  CHECK(three.fastest.throughput == doctest::Approx(100 * std::exp(0.1)).epsilon(1e-12));
}

TEST_CASE("the input with the largest effect decides, whichever its direction") {
  CHECK(combined({input("a", 1.1, 1), input("b", 0.5, 1)}, speed(1)).decisive == 1);
  CHECK(combined({input("a", 3, 1), input("b", 0.5, 1)}, speed(1)).decisive == 0);
  CHECK(combined({input("a", 2, 0.5), input("b", 3, 1)}, speed(1)).decisive == 0);
}

TEST_CASE("throughput ranges for itself: a larger batch makes the step longer and the throughput higher") {
  InputRange batch = input("batch_per_gpu", 1, 3);
  batch.at_high.throughput = 200;
  const InputRanges one = combined({batch}, speed(1));
  CHECK(one.slowest.time == Seconds{3});
  CHECK(one.slowest.throughput == 100);
  CHECK(one.fastest.time == Seconds{1});
  CHECK(one.fastest.throughput == 200);
}
