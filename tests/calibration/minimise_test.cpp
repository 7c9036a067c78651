#include "calibration/minimise.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

using namespace trainyard;

namespace {

using Point = std::vector<double>;

double square(double x) { return x * x; }

}  // namespace

TEST_CASE("the smallest value of a bowl is found wherever the search starts") {
  const auto bowl = [](const Point& x) { return square(x[0] - 3) + 5 * square(x[1] - 0.5) + 2; };
  for (const Point& start : {Point{1, 1}, Point{9, 0.1}, Point{0, 10}}) {
    const Point best = minimise(bowl, start, {{0, 10}, {0, 10}});
    REQUIRE(best.size() == 2);
    CHECK(best[0] == doctest::Approx(3).epsilon(1e-3));
    CHECK(best[1] == doctest::Approx(0.5).epsilon(1e-3));
  }
}

TEST_CASE("a kink, where there is no derivative, is found as well") {
  const auto kink = [](const Point& x) { return std::max(2 / x[0], x[0] / 2) + std::abs(x[1] - 7); };
  const Point best = minimise(kink, {0.8, 1}, {{0.1, 100}, {0, 100}});
  CHECK(best[0] == doctest::Approx(2).epsilon(1e-3));
  CHECK(best[1] == doctest::Approx(7).epsilon(1e-3));
}

TEST_CASE("the search keeps to its bounds, also where the smallest value lies beyond them") {
  double lowest = 1e9;
  double highest = -1e9;
  const auto slope = [&](const Point& x) {
    lowest = std::min({lowest, x[0], x[1]});
    highest = std::max({highest, x[0], x[1]});
    return x[0] - x[1];
  };
  const Point best = minimise(slope, {0.5, 0.5}, {{0.25, 0.75}, {0.25, 0.75}});
  CHECK(best[0] == doctest::Approx(0.25).epsilon(1e-6));
  CHECK(best[1] == doctest::Approx(0.75).epsilon(1e-6));
  CHECK(lowest >= 0.25);
  CHECK(highest <= 0.75);
}

TEST_CASE("a start beyond the bounds is moved onto them") {
  const auto bowl = [](const Point& x) {
    CHECK(x[0] >= 0);
    CHECK(x[0] <= 1);
    return square(x[0] - 0.75);
  };
  CHECK(minimise(bowl, {20}, {{0, 1}})[0] == doctest::Approx(0.75).epsilon(1e-3));
}

TEST_CASE("of two starts the better end is kept") {
  // a shallow hollow at the start and a deep, narrow one at 0.6 of it
  const auto hollows = [](const Point& x) { return std::min(1 + square(x[0] - 10), 100 * square(x[0] - 6)); };
  CHECK(minimise(hollows, {10}, {{0, 20}})[0] == doctest::Approx(6).epsilon(1e-3));
}

TEST_CASE("the same search ends at the same bits") {
  const auto crooked = [](const Point& x) {
    return std::abs(x[0] - 1 / 3.0) + std::abs(x[0] * x[1] - 0.1) + square(x[2] - x[1]);
  };
  const auto search = [&] { return minimise(crooked, {0.8, 0.7, 10}, {{0.001, 1}, {0.001, 1}, {0, 2000}}); };
  CHECK(search() == search());
}
