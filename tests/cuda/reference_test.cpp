#include "cuda/reference.hpp"

#include "cuda/measurement.hpp"
#include "cuda/random_value.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>

using namespace trainyard::cuda;

TEST_CASE("random values fill [-1, 1) evenly, and every seed has its own") {
  double sum = 0;
  double squares = 0;
  int equal = 0;
  constexpr int count = 100'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = random_value(1, i);
    REQUIRE(value >= -1);
    REQUIRE(value < 1);
    sum += value;
    squares += value * value;
    if (random_value(1, i) == random_value(2, i)) ++equal;
  }
  CHECK(std::abs(sum / count) < 0.01);
  CHECK(squares / count == doctest::Approx(1.0 / 3).epsilon(0.01));
  CHECK(equal < 5);
}

TEST_CASE("random values are the same on every machine") {
  CHECK(random_bits(0, 0) == 0xe220a8397b1dcdafU);  // SplitMix64's first output for the seed 0
  CHECK(random_value(0, 0) == static_cast<float>(0xe220a8) * 0x1p-23F - 1);
}

TEST_CASE("samples are different positions, the first and the last among them") {
  const auto samples = sample_positions(1'000'000, 32);
  REQUIRE(samples.size() == 32);
  CHECK(samples.front() == 0);
  CHECK(samples.back() == 999'999);
  for (std::size_t i = 1; i < samples.size(); ++i) CHECK(samples[i - 1] < samples[i]);
  CHECK(sample_positions(1'000'000, 32) == samples);
}

TEST_CASE("of few values all are sampled") {
  CHECK(sample_positions(0).empty());
  CHECK(sample_positions(1) == std::vector<std::uint64_t>{0});
  CHECK(sample_positions(5, 32) == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(sample_positions(40, 32).size() == 32);
}

TEST_CASE("an error is relative to the terms, not to what cancellation leaves of them") {
  ReferenceCheck check("sum", Dtype::fp32);
  check.compare(0, 1e-3 + 1e-6, 1e-3, 1);
  check.compare(1, 2, 2, 2);
  CHECK(check.error() == doctest::Approx(1e-6));
}

TEST_CASE("a result too far from the reference is wrong, and so is none") {
  ReferenceCheck check("sum in fp32", Dtype::fp32);
  CHECK_THROWS_WITH_AS(check.compare(7, 1.5, 1, 1),
                       "sum in fp32: value 7 is 1.5 where the reference has 1 (0.5 apart, 1e-05 allowed)",
                       WrongResult);
  CHECK_THROWS_AS(check.compare(0, std::numeric_limits<double>::quiet_NaN(), 1, 1), WrongResult);
  CHECK_THROWS_AS(check.compare(0, std::numeric_limits<double>::infinity(), 1, 1), WrongResult);
}

TEST_CASE("coarser types may be farther off") {
  for (const Dtype dtype : {Dtype::tf32, Dtype::fp16, Dtype::bf16}) {
    ReferenceCheck check("sum", dtype);
    CHECK_NOTHROW(check.compare(0, 1.0015, 1, 1));
  }
  ReferenceCheck stored_coarsely("statistics", Dtype::fp32, Dtype::bf16);
  CHECK_NOTHROW(stored_coarsely.compare(0, 1.0035, 1, 1));
}
