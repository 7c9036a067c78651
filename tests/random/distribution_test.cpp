#include "random/distribution.hpp"

#include "config/read.hpp"
#include "random/functions.hpp"
#include "random/order_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;
using random::Distribution;
using random::Kind;

namespace {

struct Moments {
  double mean = 0, sd = 0;
};

Moments moments(const Distribution& distribution, int draws = 200'000) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    random::Generator generator(7, {static_cast<std::uint64_t>(i)});
    const double value = random::draw(distribution, generator);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / draws;
  return {mean, std::sqrt(squares / draws - mean * mean)};
}

Distribution of_kind(Kind kind, double mean, std::optional<double> sd = {}, std::optional<double> shift = {},
                     std::optional<double> shape = {}) {
  return {.kind = kind, .mean = mean, .sd = sd, .shift = shift, .shape = shape, .file = {}, .seen = {}};
}

void check_moments(const Distribution& distribution, double mean, double sd) {
  CAPTURE(config::name_of(distribution.kind));
  const Moments found = moments(distribution);
  CHECK(found.mean == doctest::Approx(mean).epsilon(0.01));
  CHECK(found.sd == doctest::Approx(sd).epsilon(0.02));
}

}  // namespace

TEST_CASE("logarithm and exponential agree with the C library's to 1e-15") {
  CHECK(rc::check("log", [] {
    const double x = random::exp(*rc::gen::inRange(-600'000, 600'000) / 1000.0) *
                     (1 + *rc::gen::inRange(0, 1'000'000) * 1e-6);
    RC_ASSERT(std::abs(random::log(x) - std::log(x)) <= 1e-15 * std::max(1.0, std::abs(std::log(x))));
  }));
  CHECK(rc::check("exp", [] {
    const double x = *rc::gen::inRange(-600'000'000, 600'000'000) * 1e-6;
    RC_ASSERT(std::abs(random::exp(x) / std::exp(x) - 1) <= 2e-15);
  }));
}

TEST_CASE("the normal quantile undoes the normal distribution function") {
  for (const double p : {1e-300, 1e-20, 1e-6, 0.01, 0.0749, 0.0751, 0.3, 0.5, 0.77, 0.93, 0.999, 1 - 1e-12}) {
    CAPTURE(p);
    CHECK(0.5 * std::erfc(-random::normal_quantile(p) / std::sqrt(2)) == doctest::Approx(p).epsilon(1e-12));
  }
}

TEST_CASE("draws have the mean and the spread of their distribution") {
  check_moments(of_kind(Kind::constant, 3), 3, 0);
  check_moments(of_kind(Kind::normal, 2, 0.2), 2, 0.2);
  check_moments(of_kind(Kind::log_normal, 2, 1), 2, 1);
  check_moments(of_kind(Kind::exponential, 0.5), 0.5, 0.5);
  check_moments(of_kind(Kind::shifted_exponential, 1, {}, 1.0), 2, 1);
  check_moments(of_kind(Kind::gamma, 3, {}, {}, 4.0), 3, 1.5);
  check_moments(of_kind(Kind::gamma, 1, {}, {}, 0.5), 1, std::sqrt(2));
  check_moments(of_kind(Kind::pareto, 2, {}, {}, 5.0), 2, 2 / std::sqrt(15));
  Distribution even = of_kind(Kind::uniform, 1);
  even.mean.reset();
  even.low = 0.5;
  even.high = 2;
  check_moments(even, 1.25, 1.5 / std::sqrt(12));
  Distribution seen = of_kind(Kind::empirical, 1);
  seen.seen = {1, 2, 6};
  check_moments(seen, 3, std::sqrt(14.0 / 3));
}

TEST_CASE("uniform draws stay between the least and the largest value, and reach both ends") {
  Distribution even;
  even.kind = Kind::uniform;
  even.low = 0.9;
  even.high = 1.1;
  double least = 2;
  double largest = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    random::Generator generator(3, {i});
    const double value = random::draw(even, generator);
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  CHECK(least > 0.9);
  CHECK(least < 0.9001);
  CHECK(largest < 1.1);
  CHECK(largest > 1.0999);
}

TEST_CASE("a draw depends on its keys alone") {
  const auto bits = [](std::initializer_list<std::uint64_t> keys) {
    return random::Generator(1, keys).next();
  };
  CHECK(bits({1, 2}) == bits({1, 2}));
  CHECK(bits({1, 2}) != bits({2, 1}));
  CHECK(bits({1, 2}) != bits({1, 2, 0}));
  CHECK(random::Generator(1, {5}).next() != random::Generator(2, {5}).next());
  // The same on every machine, recorded once.
  CHECK(random::Generator(1, {2, 3}).next() == 14112408419500319236U);
}

TEST_CASE("parameters that a kind lacks or does not know are errors at their keys") {
  const auto errors_in = [](const std::string& text) {
    const config::Document document = config::parse("d.yaml", text);
    try {
      config::read<Distribution>(document, [](const Distribution& read, config::Problems& problems) {
        random::check(read, "", problems);
      });
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(errors_in("{kind: exponential, mean: 2}").empty());
  CHECK(errors_in("{kind: normal}").find("needs 'sd'") != std::string::npos);
  CHECK(errors_in("{kind: uniform, low: 0.9, high: 1.1}").empty());
  CHECK(errors_in("{kind: uniform, low: 0.9}").find("needs 'high'") != std::string::npos);
  CHECK(errors_in("{kind: uniform, high: 0.9}").find("needs 'low'") != std::string::npos);
  CHECK(errors_in("{kind: uniform, low: 1, high: 1}").find("not below") != std::string::npos);
  CHECK(errors_in("{kind: uniform, low: 2, high: 1}").find("not below") != std::string::npos);
  CHECK(errors_in("{kind: uniform, low: 0.9, high: 1.1, mean: 1}").find("'mean' does not apply") !=
        std::string::npos);
  CHECK(errors_in("{kind: exponential, low: 1}").find("'low' does not apply") != std::string::npos);
  CHECK(errors_in("{kind: exponential, shape: 2}").find("'shape' does not apply") != std::string::npos);
  CHECK(errors_in("{kind: normal, sd: 2}").find("below 0") != std::string::npos);
}

TEST_CASE("the expected largest of n normal draws is that of order statistics") {
  const double root_of_pi = std::sqrt(std::acos(-1.0));
  CHECK(random::maximum_quantile(1, 2, 0.9) == doctest::Approx(2 * random::normal_quantile(0.9)));
  CHECK(random::maximum_quantile(16, 1, std::pow(0.75, 16)) ==
        doctest::Approx(random::normal_quantile(0.75)));
  CHECK(std::isfinite(random::maximum_quantile(10'000'000, 1, 1 - 1e-16)));
  CHECK_THROWS_AS(random::maximum_quantile(0, 1, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(random::maximum_quantile(8, 1, 1), std::invalid_argument);
  CHECK(random::expected_maximum(1, 1) == 0);
  CHECK(random::expected_maximum(2, 1) == doctest::Approx(1 / root_of_pi).epsilon(1e-10));
  CHECK(random::expected_maximum(3, 1) == doctest::Approx(1.5 / root_of_pi).epsilon(1e-10));
  // for 4 and 5 draws with angles: Bose and Gupta, Biometrika 46 (1959)
  const double angle = std::asin(1.0 / 3) / std::acos(-1.0);
  CHECK(random::expected_maximum(4, 1) == doctest::Approx(3 / root_of_pi * (0.5 + angle)).epsilon(1e-10));
  CHECK(random::expected_maximum(5, 1) ==
        doctest::Approx(5 / (2 * root_of_pi) * (0.5 + 3 * angle)).epsilon(1e-10));
  CHECK(random::expected_maximum(100, 1) == doctest::Approx(2.507593636).epsilon(1e-9));  // Tippett's tables
  // The same integral in 30 digits, by mpmath's adaptive rule.
  CHECK(std::abs(random::expected_maximum(1024, 1) - 3.24823960137541324) < 1e-12);
  CHECK(std::abs(random::expected_maximum(1'000'000, 1) - 4.86289748619646272) < 1e-10);
  CHECK(random::expected_maximum(64, 0.02) == doctest::Approx(0.02 * random::expected_maximum(64, 1)));
  CHECK_THROWS_AS(random::expected_maximum(0, 1), std::invalid_argument);
  CHECK(random::expected_order_statistic(16, 16, 0.1) == random::expected_maximum(16, 0.1));
  CHECK(random::expected_order_statistic(3, 5, 1) == doctest::Approx(0).epsilon(1e-4));
  CHECK(random::expected_order_statistic(4, 5, 1) ==
        doctest::Approx(0.4950).epsilon(0.02));  // Tippett's tables
  CHECK(random::expected_order_statistic(15, 16, 1) == doctest::Approx(1.2847).epsilon(0.02));  // the same
  CHECK(random::expected_order_statistic(1, 5, 1) == doctest::Approx(-1.1630).epsilon(0.02));
  CHECK_THROWS_AS(random::expected_order_statistic(6, 5, 1), std::invalid_argument);
}
