#include "cuda/statistics.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace trainyard::cuda;

TEST_CASE("the median is the middle value, or between the two in the middle") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
}

TEST_CASE("quantiles lie between neighbours in proportion") {
  CHECK(quantile({0, 10, 20, 30, 40}, 0.25) == 10);
  CHECK(quantile({0, 10, 20, 30}, 0.25) == doctest::Approx(7.5));
  CHECK(quantile({0, 10}, 1) == 10);
  CHECK(interquartile_range({0, 10, 20, 30, 40}) == 20);
}

TEST_CASE("a value far off moves neither the median nor the spread") {
  CHECK(median({1, 2, 3, 4, 1e9}) == 3);
  CHECK(interquartile_range({1, 2, 3, 4, 1e9}) == 2);
}

TEST_CASE("no values have no quantile") { CHECK_THROWS_AS((void)quantile({}, 0.5), std::invalid_argument); }
