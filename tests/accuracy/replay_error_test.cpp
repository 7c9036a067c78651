#include "accuracy/replay_error.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Circumstances replicas(int gpus) {
  Circumstances of{.platform = "dgx_h100", .gpus = gpus, .nodes = 1, .batch_per_gpu = 32};
  of.use.model = "resnet50";
  return of;
}

/// Series of one and eight GPUs, of which the eight are this much faster than predicted.
PublishedErrors published(const std::vector<double>& gains) {
  PublishedErrors errors;
  for (std::size_t i = 0; i < gains.size(); ++i) {
    for (const int gpus : {1, 8}) {
      PublishedError run{.of = replicas(gpus), .series = static_cast<int>(i), .place = "a.csv:1"};
      run.predicted = 100.0 * gpus;
      run.measured = run.predicted * (gpus > 1 ? 1 + gains[i] : 1);
      errors.runs.push_back(run);
    }
  }
  return errors;
}

}  // namespace

TEST_CASE("the interval of a replay on one GPU is Student's of the four measured steps") {
  const auto expected = replay_error(nullptr, replicas(1));
  REQUIRE(expected);
  // t of 80 % both sides and three degrees of freedom is 1.6377 (Student 1908)
  double sum = 0;
  double squares = 0;
  for (const auto& step : replayed_steps) sum += std::log(step.replayed / step.measured);
  for (const auto& step : replayed_steps)
    squares += std::pow(std::log(step.replayed / step.measured) - sum / 4, 2);
  const double half = 1.63774435 * std::sqrt(squares / 3 * 1.25);
  CHECK(std::log1p(expected->low) == doctest::Approx(sum / 4 - half).epsilon(1e-7));
  CHECK(std::log1p(expected->high) == doctest::Approx(sum / 4 + half).epsilon(1e-7));
  CHECK(expected->pairs == 0);
  CHECK(std::ranges::all_of(replayed_steps, [&](const auto& step) {
    return covers(*expected, step.replayed / step.measured - 1);
  }));
}

TEST_CASE("the error of scaling is added to that of a replay on several GPUs") {
  CHECK_FALSE(replay_error(nullptr, replicas(8)));
  const PublishedErrors few = published({0.1, -0.1});
  CHECK_FALSE(replay_error(&few, replicas(8)));
  const PublishedErrors even = published(std::vector<double>(10, 0.0));
  const PublishedErrors lossy = published({-0.3, -0.28, -0.26, -0.25, -0.24, -0.22, -0.2, -0.2, -0.2, -0.2});
  const auto alone = replay_error(&even, replicas(1));
  const auto without = replay_error(&even, replicas(8));
  const auto with = replay_error(&lossy, replicas(8));
  REQUIRE(alone);
  REQUIRE(without);
  REQUIRE(with);
  CHECK(without->pairs == 10);
  CHECK(without->low < alone->low);
  CHECK(without->high > alone->high);
  CHECK(with->low < without->low - 0.1);
  CHECK(with->high < without->high);
}
