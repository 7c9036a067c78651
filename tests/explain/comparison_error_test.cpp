// Which published errors a comparison of two runs uses, and whether its change is beyond its error.

#include "explain/comparison_error.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

PredictedJob job_with(const std::string& fit, int batch = 32) {
  PredictedJob job{.of = {}, .fit = fit, .software_fit = fit == "1gpu" ? "software" : fit};
  job.of.batch_per_gpu = batch;
  return job;
}

Comparison comparison_of(const PredictedJob& a, const PredictedJob& b) {
  Comparison comparison;
  comparison.throughput_ratio = 1.1;
  comparison.keys = {{.path = "batch_per_gpu", .a = "32", .b = "64"}};
  comparison.a.predicted_job = a;
  comparison.b.predicted_job = b;
  return comparison;
}

}  // namespace

TEST_CASE("a comparison uses the errors of the fit that both runs have") {
  CHECK(fit_of_comparison(comparison_of(job_with("software"), job_with("software", 64))) == "software");
  CHECK(fit_of_comparison(comparison_of(job_with("nothing"), job_with("nothing", 64))) == "nothing");
  const auto differing = fit_of_comparison(comparison_of(job_with("software"), job_with("1gpu")));
  REQUIRE_FALSE(differing);
  CHECK(differing.error().find("A: software, B: 1gpu") != std::string::npos);
}

TEST_CASE("a factor that B keeps from A's measurement of one GPU is no measurement of B's kernels") {
  Comparison comparison = comparison_of(job_with("1gpu"), job_with("1gpu", 64));
  for (RunSummary* run : {&comparison.a, &comparison.b}) run->experiment_keys["one_gpu_scale"] = "1.2";
  CHECK(fit_of_comparison(comparison) == "software");
  comparison.b.experiment_keys["one_gpu_scale"] = "1.3";  // measured for B as well
  CHECK(fit_of_comparison(comparison) == "1gpu");
  comparison.b = comparison.a;
  comparison.b.predicted_job->of.gpus = 8;
  CHECK(fit_of_comparison(comparison) == "1gpu");
}

TEST_CASE("no error is known of the same experiment, of a trace or with too few pairs") {
  Comparison comparison = comparison_of(job_with("software"), job_with("software", 64));
  CHECK_FALSE(comparison_error(comparison, {}));
  comparison.keys.clear();
  CHECK(fit_of_comparison(comparison).error() == "the experiments are the same");
  comparison.keys = {{.path = "gpu.power", .a = "1", .b = "2"}};
  CHECK(fit_of_comparison(comparison).error() == "no published runs differ in gpu.power");
  comparison.throughput_ratio = 1;
  CHECK(fit_of_comparison(comparison).error() == "the change does not affect the predicted throughput");
  comparison.b.predicted_job = unknown("a trace");
  CHECK(fit_of_comparison(comparison).error() == "B: a trace");
}

TEST_CASE("a change of the network leaves kernels as they are, other settings need not") {
  PublishedErrors errors;
  errors.ratio_widening[index_of(RunChange::gpus)] = 1;
  errors.ratio_widening[index_of(RunChange::settings)] = 2;
  for (int series = 0; series < 12; ++series) {
    for (const int gpus : {4, 8}) {
      const double wrong = gpus == 8 ? 1 + 0.01 * series : 1;
      PublishedError& run = errors.runs.emplace_back();
      run.of.gpus = gpus;
      run.series = series;
      run.predicted = 100.0 * gpus * wrong;
      run.measured = 100.0 * gpus;
      run.place = "a.csv:" + std::to_string(errors.runs.size());
    }
  }
  Comparison comparison = comparison_of(job_with("software"), job_with("software"));
  const auto width = [&](const std::string& key) {
    comparison.keys = {{.path = key, .a = "1", .b = "2"}};
    const auto error = comparison_error(comparison, errors);
    REQUIRE(error);
    return std::log(1 + error->high) - std::log(1 + error->low);
  };
  const double network = width("platform.fabric.nic");
  CHECK(width("sync.algorithm") == doctest::Approx(network));
  CHECK(width("stack.overlap") == doctest::Approx(2 * network));
  CHECK(width("platform.node.gpus.profile") == doctest::Approx(2 * network));
}

TEST_CASE("a change is beyond its expected error if both ends lie on the predicted side") {
  Comparison comparison;
  comparison.throughput_ratio = 1.1;
  comparison.ratio_error = RatioError{.low = -0.05, .high = 0.05};
  CHECK(is_beyond_error(comparison));
  CHECK(lowest_ratio(comparison) == doctest::Approx(1.045));
  comparison.ratio_error->low = -0.1;
  CHECK_FALSE(is_beyond_error(comparison));
  comparison.throughput_ratio = 0.97;
  CHECK_FALSE(is_beyond_error(comparison));
  comparison.throughput_ratio = 0.9;
  CHECK(is_beyond_error(comparison));
  comparison.throughput_ratio = 1.05;
  comparison.ratio_error->high = -0.06;  // pairs like it became slower
  CHECK_FALSE(is_beyond_error(comparison));
}

TEST_CASE("assumed inputs widen the interval of a ratio by what they change of it") {
  PublishedErrors errors;
  for (int series = 0; series < 12; ++series) {
    for (const int gpus : {4, 8}) {
      PublishedError& run = errors.runs.emplace_back();
      run.of.gpus = gpus;
      run.series = series;
      run.predicted = run.measured = 100.0 * gpus;
      run.place = "a.csv:" + std::to_string(errors.runs.size());
    }
  }
  Comparison comparison = comparison_of(job_with("software"), job_with("software"));
  comparison.keys = {{.path = "sync.algorithm", .a = "ring", .b = "tree"}};
  const auto ends_of = [&] {
    const auto error = comparison_error(comparison, errors);
    REQUIRE(error);
    return std::pair(std::log1p(error->low), std::log1p(error->high));
  };
  const auto [low, high] = ends_of();
  const double middle = (low + high) / 2;
  const double half = (high - low) / 2;
  const AssumedEffect nic{
      .key = "platform.fabric.nic", .value = "10 Gbps", .at_low = std::exp(-0.3), .at_high = std::exp(0.2)};
  comparison.b.assumed = {nic};
  CHECK(ends_of().first == doctest::Approx(middle - std::hypot(half, 0.3)).epsilon(1e-9));
  CHECK(ends_of().second == doctest::Approx(middle + std::hypot(half, 0.2)).epsilon(1e-9));
  CHECK(comparison_error(comparison, errors)->assumed == std::vector<std::string>{"platform.fabric.nic"});
  // what both assume alike moves both runs
  comparison.a.assumed = {nic};
  CHECK(ends_of().first == doctest::Approx(low).epsilon(1e-9));
  CHECK(ends_of().second == doctest::Approx(high).epsilon(1e-9));
  // of another machine: A alone and B alone
  comparison.a.experiment_keys["platform"] = "one";
  comparison.b.experiment_keys["platform"] = "another";
  CHECK(ends_of().first == doctest::Approx(middle - std::hypot(half, std::hypot(0.3, 0.2))).epsilon(1e-9));
  CHECK(ends_of().second == doctest::Approx(middle + std::hypot(half, std::hypot(0.2, 0.3))).epsilon(1e-9));
}

TEST_CASE("a hypothetical speed of kernels is an assumed input, so that its comparison has an error") {
  Comparison comparison = comparison_of(job_with("software"), job_with("software"));
  comparison.keys = {{.path = "gpu.speed", .a = "1", .b = "3"}};
  CHECK(fit_of_comparison(comparison) == "software");
  comparison.keys.push_back({.path = "stack.op_overhead", .a = "1 us", .b = "2 us"});
  CHECK(fit_of_comparison(comparison).error() == "no published runs differ in stack.op_overhead");
}
