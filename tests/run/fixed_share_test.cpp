// Shares of the time that depend on themselves: curves on which regula falsi alone is slow or does not end.

#include "run/fixed_share.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <functional>

using namespace trainyard;

namespace {

constexpr double share_tolerance = 1e-3;

struct Solved {
  FixedShare share;
  int evaluations = 0;
};

Solved solved(const std::function<double(double)>& of) {
  Solved one;
  one.share = fixed_share(
      [&](double share) {
        ++one.evaluations;
        return of(share);
      },
      share_tolerance);
  return one;
}

}  // namespace

TEST_CASE("a share that follows from itself is found to the tolerance, on flat and on steep curves") {
  const std::function<double(double)> curves[] = {
      [](double) { return 0.37; },
      [](double x) { return 1 - x; },
      [](double x) { return 1 / (1 + 1e6 * x * x); },
      [](double x) { return 1 - std::pow(x, 200); },
      [](double x) { return std::pow(1 - x, 50); },
      [](double x) { return x < 0.6 ? 1 : std::max(0.0, 1 - 300 * (x - 0.6)); }};
  for (const auto& curve : curves) {
    const Solved one = solved(curve);
    CAPTURE(one.share.share);
    CHECK(std::abs(curve(one.share.share) - one.share.share) <= share_tolerance);
    CHECK(one.share.off == curve(one.share.share) - one.share.share);
    CHECK(one.evaluations <= 12 + 20);
  }
}

TEST_CASE("what never waits has all of the time") {
  CHECK(solved([](double) { return 1.0; }).share.share == 1);
  CHECK(solved([](double) { return 1.0; }).share.off == 0);
}

TEST_CASE("a jump over the share is found at its place, and the difference is told") {
  const Solved one = solved([](double x) { return x < 0.3 ? 0.9 : 0.1; });
  CHECK(one.share.share == doctest::Approx(0.3).epsilon(1e-5));
  CHECK(one.share.off == doctest::Approx(-0.2).epsilon(1e-5));
  CHECK(one.evaluations <= 12 + 20);
}
