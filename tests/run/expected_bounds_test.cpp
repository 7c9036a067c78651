#include "run/expected_bounds.hpp"

#include "figure_of.hpp"
#include "learn/learn.hpp"
#include "run/figures.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <string_view>

using namespace trainyard;

namespace {

Run bounded_run(const Overrides& overrides = {}) {
  return simulate(testing::shipped_experiment("resnet50_p3_16xlarge_x2", overrides),
                  {.fidelity = Fidelity::closed});
}

/// Both ends over the figure.
ErrorBounds relative_bounds(const Run& run, std::string_view field) {
  const auto bounds = expected_bounds(run, field);
  REQUIRE(bounds);
  const double value = figure_of(run, field);
  return {.low = bounds->low / value - 1, .high = bounds->high / value - 1};
}

void check_same(const ErrorBounds& bounds, const ErrorBounds& others) {
  CHECK(bounds.low == doctest::Approx(others.low).epsilon(1e-9));
  CHECK(bounds.high == doctest::Approx(others.high).epsilon(1e-9));
}

}  // namespace

TEST_CASE(
    "times and rents have the interval of the throughput, turned round; energy also that of the power") {
  const Run run = bounded_run({{"platform.node.power.overhead", "1 kW"}});
  REQUIRE(run.expected_error);
  const ErrorBounds speed{run.expected_error->low, run.expected_error->high};
  check_same(relative_bounds(run, "throughput_samples_per_s"), speed);
  for (const char* const time : {"step_time_s", "epoch_time_s", "cost_per_epoch_usd"})
    check_same(relative_bounds(run, time), of_inverse(speed));
  check_same(relative_bounds(run, "energy_per_step_j"), of_product(of_inverse(speed), power_bounds));
  check_same(relative_bounds(run, "average_power_w"), power_bounds);
  check_same(relative_bounds(run, "memory_peak_bytes"), memory_bounds);
}

TEST_CASE("a whole job has an interval; one that trains to a target has that of the target") {
  const Run epochs = bounded_run({{"job.epochs", "90"}});
  const ErrorBounds speed{epochs.expected_error->low, epochs.expected_error->high};
  check_same(relative_bounds(epochs, "job_time_s"), job_time_bounds({}, speed));
  const Run target = bounded_run({{"job.target", "75.9 % top-1"}});
  CHECK_FALSE(expected_bounds(target, "job_time_s"));
  const Known<ErrorBounds> its = bounds_of_target(target);
  REQUIRE(its);
  CHECK(figure_of(target, "time_to_target_low_s") ==
        doctest::Approx((1 + its->low) * figure_of(target, "time_to_target_s")).epsilon(1e-12));
}

TEST_CASE("without an expected error of the throughput, memory and power keep theirs") {
  Run run = bounded_run();
  run.expected_error = unknown("for this test");
  CHECK_FALSE(expected_bounds(run, "step_time_s"));
  CHECK_FALSE(expected_bounds(run, "energy_per_step_j"));
  CHECK(expected_bounds(run, "memory_peak_bytes"));
}

TEST_CASE("every interval is that of a figure, in the order of the figures") {
  const Run run = bounded_run();
  const auto all = expected_bounds(run);
  CHECK(all.size() > 5);
  CHECK(std::ranges::is_sorted(all, {}, [](const FigureBounds& its) { return index_of(its.field); }));
  for (const auto& [field, low, high] : all) {
    CAPTURE(std::string(field));
    CHECK(low > 0);
    CHECK(low < high);
  }
}

TEST_CASE("without an interval of the accuracy at the end its reason is the true one") {
  Run run;
  const auto reason = [&] { return bounds_of_end_accuracy(run).error(); };
  CHECK(reason().find("no accuracy") != std::string::npos);
  const auto shared = std::make_shared<Learning>();
  run.learning = shared;
  run.experiment.settings.learn.emplace();
  Learning& learning = *shared;
  learning.end_accuracy.median = 0.9;
  learning.repeats.resize(1);
  learning.repeats.front().curve.emplace_back().test_error = 0.1;
  CHECK(reason().find("no test samples") != std::string::npos);
  learning.test_samples = 500;
  CHECK(reason().find("one repeat") != std::string::npos);
  learning.repeats.push_back(learning.repeats.front());
  REQUIRE(bounds_of_end_accuracy(run));
  CHECK(bounds_of_end_accuracy(run)->low < 0);
  learning.repeats.back().curve.back().test_error.reset();
  CHECK(reason().find("a repeat ends without") != std::string::npos);
}
