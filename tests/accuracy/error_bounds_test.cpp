#include "accuracy/error_bounds.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("the bounds of a time are those of the speed, turned round") {
  const ErrorBounds time = of_inverse({.low = -0.2, .high = 0.25});
  CHECK(time.low == doctest::Approx(-0.2).epsilon(1e-12));
  CHECK(time.high == doctest::Approx(0.25).epsilon(1e-12));
  const ErrorBounds back = of_inverse(of_inverse({.low = -0.1, .high = 0.5}));
  CHECK(back.low == doctest::Approx(-0.1).epsilon(1e-12));
  CHECK(back.high == doctest::Approx(0.5).epsilon(1e-12));
}

TEST_CASE("half widths of independent factors add up in squares, middles as they are") {
  const double e = std::exp(1.0);
  // logarithms -1..3 and 0..3: middles 1 and 1.5, halves 2 and 1.5
  const ErrorBounds product =
      of_product({.low = 1 / e - 1, .high = e * e * e - 1}, {.low = 0, .high = e * e * e - 1});
  CHECK(std::log1p(product.low) == doctest::Approx(0).epsilon(1e-12));
  CHECK(std::log1p(product.high) == doctest::Approx(5).epsilon(1e-12));
}

TEST_CASE("a factor without an error changes no bounds") {
  const ErrorBounds bounds{.low = -0.3, .high = 0.1};
  const ErrorBounds product = of_product(bounds, {});
  CHECK(product.low == doctest::Approx(bounds.low).epsilon(1e-12));
  CHECK(product.high == doctest::Approx(bounds.high).epsilon(1e-12));
}

TEST_CASE("the time of a job lies up to 8 % beyond what samples and throughput say") {
  const ErrorBounds time = job_time_bounds({}, {.low = -0.5, .high = 1});
  CHECK(time.low == doctest::Approx(0.5 * 0.92 - 1).epsilon(1e-12));
  CHECK(time.high == doctest::Approx(2 * 1.08 - 1).epsilon(1e-12));
}
