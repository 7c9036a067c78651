#include "accuracy/common_error.hpp"

#include "random/functions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace trainyard {
namespace {

/// Sums over the errors of a set.
struct ErrorSums {
  int runs = 0;
  double sum = 0;
  double squares = 0;
};

/// Runs with the same differ in nothing but the layout and the batch.
auto set_of(const PublishedError& run) {
  return std::tuple(run.series, run.of.platform, run.of.nodes, run.of.gpus, run.of.use, run.of.has_fp8,
                    run.of.layout ? run.of.layout->parameters : 0);
}

}  // namespace

ErrorSpread error_spread(const ExpectedError& expected) {
  const double low = std::log1p(expected.low);
  const double high = std::log1p(expected.high);
  return {.centre = (low + high) / 2,
          .sd = (high - low) / 2 / random::normal_quantile((1 + expected_share) / 2)};
}

CommonError common_error(const PublishedErrors& errors) {
  std::map<decltype(set_of(errors.runs.front())), ErrorSums> sets;
  for (const PublishedError& run : errors.runs) {
    if (!run.is_scored) continue;
    const auto expected = expected_error(errors, run.of, run.series);
    if (!expected) continue;
    const ErrorSpread spread = error_spread(*expected);
    const double error = (std::log(run.measured / run.predicted) - spread.centre) / spread.sd;
    ErrorSums& sums = sets[set_of(run)];
    ++sums.runs;
    sums.sum += error;
    sums.squares += error * error;
  }
  CommonError common;
  double products = 0;
  double squares = 0;
  for (const auto& [key, sums] : sets) {
    if (sums.runs < 2) continue;
    ++common.sets;
    common.runs += sums.runs;
    products += (sums.sum * sums.sum - sums.squares) / (sums.runs - 1);
    squares += sums.squares;
  }
  common.share = squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 1;
  return common;
}

}  // namespace trainyard
