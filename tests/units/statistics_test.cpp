#include "units/statistics.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace trainyard;

TEST_CASE("a quantile lies between the nearest two values in proportion, in whatever order they come") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({10, 20, 30, 40, 50}, 0.9) == doctest::Approx(46));
  CHECK(quantile({7, 5}, 0) == 5);
  CHECK(quantile({7, 5}, 1) == 7);
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(mean({1, 2, 6}) == 3);
  CHECK(geometric_mean({1, 4, 16}) == doctest::Approx(4));
}

TEST_CASE("nothing is a mean or a quantile of no values") {
  CHECK_THROWS_AS(quantile({}, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(quantile({1}, 1.1), std::invalid_argument);
  CHECK_THROWS_AS(mean({}), std::invalid_argument);
  CHECK_THROWS_AS(geometric_mean({}), std::invalid_argument);
}
