// Draws of a plan's step against closed forms.

#include "plan/plan_draws.hpp"

#include "random/functions.hpp"
#include "random/order_statistics.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

namespace trainyard {
namespace {

constexpr int many = 10000;

GroupSpeeds speeds_of(int gpus, double variation) {
  return {.waited = {.gpus = gpus, .variation = variation},
          .nominal = 1 + random::expected_maximum(gpus, variation)};
}

DrawnFigure certain(double nominal) { return {.nominal = nominal, .slow = nominal}; }
DrawnFigure uncertain(double nominal, double sd) {
  return {.nominal = nominal, .slow = nominal, .error = {.centre = 0, .sd = sd}};
}

TEST_CASE("The quantile of a prediction with an error is that of its log-normal distribution") {
  const ErrorSpread error{.centre = 0.05, .sd = 0.1};
  for (const double quantile : {0.5, 0.9, 0.99}) {
    const PlanDraws draws(quantile, many, 1, {GroupSpeeds{}});
    const double normal = random::normal_quantile(quantile);
    const double exact = 2 * std::exp(-0.05 + 0.1 * normal);
    const double density = std::exp(-normal * normal / 2) / std::sqrt(2 * 3.14159265358979);
    const double sampling = 0.1 * std::sqrt(quantile * (1 - quantile) / many) / density;
    CAPTURE(quantile);
    CHECK(std::abs(std::log(draws.quantile_of(0, {.nominal = 2, .slow = 2, .error = error}) / exact)) <
          4 * sampling);
  }
}

TEST_CASE("The slowest GPU adds the quantile of the largest of normal variables, and its mean only once") {
  const GroupSpeeds speeds = speeds_of(64, 0.02);
  const PlanDraws draws(0.9, many, 2, {speeds});
  // Kernels fill the whole step.
  const DrawnFigure figure{.nominal = speeds.nominal, .slow = speeds.slow()};
  const double exact = 1 + random::maximum_quantile(64, 0.02, 0.9);
  CHECK(draws.quantile_of(0, figure) == doctest::Approx(exact).epsilon(0.001));
  CHECK(mean(draws.values(0, figure, 1, "a")) == doctest::Approx(speeds.nominal).epsilon(0.0005));
  CHECK(draws.quantile_of(0, certain(3)) == doctest::Approx(3));  // no kernels at all
}

TEST_CASE("Equal layouts tie, and a larger quantile prefers the narrower interval") {
  const DrawnFigure fast = uncertain(1, 0.1);
  const DrawnFigure sure = uncertain(1.03, 0.05);
  const PlanDraws middle(0.6, 1000, 3, {speeds_of(8, 0.01)});
  const PlanDraws high(0.95, 1000, 3, {speeds_of(8, 0.01)});
  CHECK(high.quantile_of(0, fast) == high.quantile_of(0, uncertain(1, 0.1)));
  CHECK(middle.quantile_of(0, fast) < middle.quantile_of(0, sure));
  CHECK(high.quantile_of(0, fast) > high.quantile_of(0, sure));
}

TEST_CASE("No quantile is below its lower bound, and more GPUs have the slower slowest one in every draw") {
  for (const int gpus : {1, 2, 64}) {
    const GroupSpeeds speeds = speeds_of(gpus, 0.05);
    const PlanDraws draws(0.9, 1000, 4, {speeds, speeds_of(2 * gpus, 0.05)});
    for (const double kernels : {0.0, 0.5, 1.0}) {
      const double slow = 1 + kernels * (speeds.slow() / speeds.nominal - 1);
      const DrawnFigure figure{.nominal = 1, .slow = slow, .error = {.centre = -0.02, .sd = 0.03}};
      CHECK(draws.quantile_of(0, figure) >= draws.least_factor(0, figure.error) * (1 - 1e-12));
    }
    const DrawnFigure all{.nominal = draws.speeds(0).nominal, .slow = draws.speeds(0).slow()};
    const DrawnFigure more{.nominal = draws.speeds(1).nominal, .slow = draws.speeds(1).slow()};
    const std::vector<double> few = draws.values(0, all, 1, "");
    const std::vector<double> twice = draws.values(1, more, 1, "");
    for (std::size_t draw = 0; draw < few.size(); ++draw) CHECK(twice[draw] >= few[draw] - 1e-12);
  }
}

TEST_CASE("Errors of two layouts are correlated by the common share, and each has the whole variance") {
  const PlanDraws draws(0.9, many, 5, {GroupSpeeds{}});
  const DrawnFigure figure = uncertain(1, 0.1);
  for (const double common : {0.0, 0.5, 1.0}) {
    const std::vector<double> a = draws.values(0, figure, common, "a");
    const std::vector<double> b = draws.values(0, figure, common, "b");
    double products = 0;
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      products += std::log(a[i]) * std::log(b[i]);
      squares += std::log(b[i]) * std::log(b[i]);
    }
    CAPTURE(common);
    CHECK(std::abs(products / squares - common) < 4 / std::sqrt(many));
    CHECK(std::sqrt(squares / many) == doctest::Approx(0.1).epsilon(0.03));
  }
  CHECK(draws.values(0, figure, 0.5, "a") == draws.values(0, figure, 0.5, "a"));
}

}  // namespace
}  // namespace trainyard
