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

TEST_CASE("Student's t has the values of its tables, and the normal distribution's for many degrees") {
  CHECK(students_t(1, 0.9) == doctest::Approx(3.0777).epsilon(1e-4));
  CHECK(students_t(9, 0.975) == doctest::Approx(2.2622).epsilon(1e-4));
  CHECK(students_t(9, 0.025) == doctest::Approx(-2.2622).epsilon(1e-4));
  CHECK(students_t(1e6, 0.9) == doctest::Approx(1.28155).epsilon(1e-5));
}
