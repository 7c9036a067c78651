#include "calibration/least_squares.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

TEST_CASE("a line through its own points is found again") {
  CHECK(rc::check("a + b x", [] {
    const double a = *rc::gen::inRange(1, 1000) / 100.0;
    const double b = *rc::gen::inRange(1, 1000) / 100.0;
    const auto residuals = [&](const std::vector<double>& at) {
      std::vector<double> off;
      for (int x = 1; x < 6; ++x) off.push_back((at[0] + at[1] * x) / (a + b * x) - 1);
      return off;
    };
    const std::vector<double> found = least_squares(residuals, {1, 1}, 0.001);
    RC_ASSERT(std::abs(found[0] / a - 1) < 1e-5);
    RC_ASSERT(std::abs(found[1] / b - 1) < 1e-5);
  }));
}

TEST_CASE("a valley that is not straight is followed to its lowest point") {
  // Rosenbrock's function.
  const auto residuals = [](const std::vector<double>& at) {
    return std::vector<double>{10 * (at[1] - at[0] * at[0]), 1 - at[0]};
  };
  const std::vector<double> found = least_squares(residuals, {0.1, 2}, 1e-3);
  CHECK(found[0] == doctest::Approx(1).epsilon(1e-6));
  CHECK(found[1] == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("coordinates stay above the bound, and those without effect where they began") {
  const auto residuals = [](const std::vector<double>& at) { return std::vector<double>{at[0] + 3}; };
  const std::vector<double> found = least_squares(residuals, {1, 0.7}, 0.25);
  CHECK(found[0] == 0.25);
  CHECK(found[1] == doctest::Approx(0.7));
}

TEST_CASE("small residuals count as they are, large ones as their square root") {
  CHECK(softened(1e-4, 0.05) == doctest::Approx(1e-4).epsilon(1e-5));
  CHECK(softened(-0.01, 0.05) == -softened(0.01, 0.05));
  const double ratio = softened(400.0, 0.05) / softened(100.0, 0.05);
  CHECK(ratio == doctest::Approx(2).epsilon(1e-3));
}
