// Expected errors as random variables: the interval's tenths, the quantiles of published runs, and the part
// that runs in the same circumstances have in common.

#include "accuracy/common_error.hpp"

#include "config/read_file.hpp"
#include "random/functions.hpp"
#include "random/generator.hpp"
#include "workload/csv.hpp"

#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// Families of four layouts of one job. The error of a run is its family's times `common`, and its own.
PublishedErrors made_families(double common, double own) {
  PublishedErrors errors;
  const auto normal = [](std::uint64_t family, std::uint64_t run) {
    return random::normal_quantile(random::Generator(5, {family, run}).uniform());
  };
  for (int family = 0; family < 60; ++family) {
    for (int i = 0; i < 4; ++i) {
      PublishedError& run = errors.runs.emplace_back();
      run.of.platform = "a";
      run.of.layout = LayoutUse{.tensor = 1 << i};
      run.series = family;
      run.predicted = 100;
      const auto number = static_cast<std::uint64_t>(family);
      run.measured = 100 * std::exp(0.1 * (common * normal(number, 9) + own * normal(number, i)));
    }
  }
  return errors;
}

/// Published runs whose ranks share a model.
PublishedErrors errors_of_layouts() {
  const std::string file = TRAINYARD_SOURCE_DIR "/workloads/published/errors/layouts_software.csv";
  return read_published_errors(file, config::read_file(file, largest_csv));
}

}  // namespace

TEST_CASE("a tenth of the normal distribution lies on each side of the interval") {
  const ExpectedError expected{.low = -0.1, .high = 0.2};
  const ErrorSpread spread = error_spread(expected);
  const double tenth = random::normal_quantile(0.9);
  CHECK(std::exp(spread.centre - tenth * spread.sd) == doctest::Approx(0.9));
  CHECK(std::exp(spread.centre + tenth * spread.sd) == doctest::Approx(1.2));
}

TEST_CASE("the common share of errors is the correlation of runs of a family") {
  CHECK(common_error(made_families(1, 0)).share > 0.9);  // intervals of a family differ a little
  CHECK(common_error(made_families(0, 1)).share < 0.12);
  const CommonError half = common_error(made_families(std::sqrt(0.5), std::sqrt(0.5)));
  CHECK(half.share == doctest::Approx(0.5).epsilon(0.3));
  CHECK(half.sets == 60);
  CHECK(half.runs == 240);
}

TEST_CASE("published layouts of one job have a third to two thirds of their errors' variance in common") {
  const CommonError common = common_error(errors_of_layouts());
  CHECK(common.share > 0.3);
  CHECK(common.share < 0.67);
  CHECK(common.runs > 150);
}

TEST_CASE("published runs are as often slower than a quantile as it says") {
  const PublishedErrors errors = errors_of_layouts();
  for (const double quantile : {0.8, 0.9, 0.95}) {
    int runs = 0;
    int below = 0;
    for (const PublishedError& run : errors.runs) {
      if (!run.is_scored) continue;
      const ErrorSpread spread = error_spread(expected_error(errors, run.of, run.series).value());
      const double least = spread.centre - spread.sd * random::normal_quantile(quantile);
      ++runs;
      if (std::log(run.measured / run.predicted) >= least) ++below;
    }
    CAPTURE(quantile);
    CHECK(static_cast<double>(below) / runs == doctest::Approx(quantile).epsilon(0.05));
  }
}
