#include "published/curve_errors.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

TEST_CASE("a curve's mean does not depend on how dense its sizes lie") {
  // 20 % off at 1 MiB, 5 % off at each of a hundred sizes around 1 GiB.
  std::vector<SizedError> errors{{Bytes{1 << 20}, 0.2}};
  for (int i = 0; i < 100; ++i) errors.push_back({Bytes{double(1 << 30) + i}, -0.05});
  CHECK(mean_error(errors).value() == doctest::Approx((0.2 + 0.05) / 2));
  CHECK_FALSE(mean_error({}).has_value());
}

TEST_CASE("sizes are parted at 1 MiB") {
  const std::vector<SizedError> errors{{Bytes{1 << 20}, 1}, {Bytes{(1 << 20) - 1}, 2}};
  CHECK(part_of(errors, true).front().error == 1);
  CHECK(part_of(errors, false).front().error == 2);
}

TEST_CASE("the 90th percentile is the error that nine tenths of the weight do not exceed") {
  // Ten sizes an octave apart, so that each weighs 1: errors of 1 to 10 %, signs and order of no account.
  std::vector<SizedError> errors;
  for (const int percent : {7, -2, 10, 1, -5, 9, 4, -8, 3, 6})
    errors.push_back({Bytes{std::exp2(10.0 + static_cast<double>(errors.size()))}, percent / 100.0});
  CHECK(weighted_quantile(errors, octave_weights(errors), 0.9).value() == 0.09);
  CHECK(weighted_quantile(errors, octave_weights(errors), 0.5).value() == 0.05);
  // A hundred more of 50 % at the size of the worst share its weight: still one tenth.
  for (int i = 0; i < 100; ++i) errors.push_back({Bytes{std::exp2(12)}, 0.5});
  CHECK(weighted_quantile(errors, octave_weights(errors), 0.9).value() == 0.09);
  CHECK(weighted_quantile(errors, octave_weights(errors), 0.95).value() == 0.5);
  CHECK_FALSE(weighted_quantile({}, {}, 0.9).has_value());
}

TEST_CASE("half of the weight lies below the median, all of it below the last") {
  CHECK(rc::check("weighted quantiles", [] {
    const auto count = *rc::gen::inRange(1, 30);
    std::vector<SizedError> errors;
    for (int i = 0; i < count; ++i)
      errors.push_back({Bytes{std::exp2(*rc::gen::inRange(3, 30))}, *rc::gen::inRange(-100, 100) / 100.0});
    const std::vector<double> weights = octave_weights(errors);
    const double median = weighted_quantile(errors, weights, 0.5).value();
    double below = 0;
    double not_above = 0;
    double all = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double size = std::abs(errors[i].error);
      all += weights[i];
      if (size < median) below += weights[i];
      if (size <= median) not_above += weights[i];
    }
    RC_ASSERT(below <= all / 2 + 1e-9);
    RC_ASSERT(not_above >= all / 2 - 1e-9);
    RC_ASSERT(weighted_quantile(errors, weights, 1).value() >= median);
  }));
}
