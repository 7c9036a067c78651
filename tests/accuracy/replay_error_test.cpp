#include "accuracy/replay_error.hpp"

#include "config/diagnostic.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Circumstances replicas(int gpus) {
  Circumstances of{.platform = "dgx_h100", .gpus = gpus, .nodes = 1, .batch_per_gpu = 32};
  of.use.model = "resnet50";
  return of;
}

MeasuredReplay step(const std::string& model, double op_us, double slower) {
  return {.model = model,
          .trace = {},
          .measured = Seconds{slower},
          .replayed = Seconds{1},
          .mean_op = Seconds{1e-6 * op_us}};
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

TEST_CASE("the interval of a replay on one GPU is that of the steps of other models with ops of its length") {
  std::vector<MeasuredReplay> steps;
  for (int i = 1; i <= 20; ++i) steps.push_back(step("other", i, std::exp(0.01 * i)));
  const ReplayBounds bounds = one_gpu_replay_bounds(steps, "resnet50", Seconds{1e-6});
  CHECK(bounds.steps == 15);  // those of 1 to 15 us
  // the logarithms are -0.15 to -0.01 in equal steps: quantiles at 1.4 and 12.6 of 14 steps, and 2 % beyond
  // each
  CHECK(std::log1p(bounds.bounds.low) == doctest::Approx(-0.136 - 0.02).epsilon(1e-9));
  CHECK(std::log1p(bounds.bounds.high) == doctest::Approx(-0.024 + 0.02).epsilon(1e-9));
  SUBCASE("a model's own steps have no part in it") {
    for (const double op_us : {0.9, 1.0, 1.1}) steps.push_back(step("resnet50", op_us, 5));
    CHECK(one_gpu_replay_bounds(steps, "resnet50", Seconds{1e-6}).bounds == bounds.bounds);
    CHECK(one_gpu_replay_bounds(steps, "vgg16", Seconds{1e-6}).bounds.low < bounds.bounds.low);
  }
  SUBCASE("if ops are longer than those of all, a line may be several: all steps count") {
    CHECK(one_gpu_replay_bounds(steps, "resnet50", Seconds{19.9e-6}).steps == 15);
    CHECK(one_gpu_replay_bounds(steps, "resnet50", Seconds{20.1e-6}).steps == 20);
    CHECK(one_gpu_replay_bounds(steps, "resnet50", Seconds{}).steps == 20);
  }
}

TEST_CASE("46 of the 51 measured steps lie in the interval of the steps of other models") {
  const std::vector<MeasuredReplay>& steps = measured_replays();
  CHECK(steps.size() == 51);
  std::set<std::string> outside;
  for (const MeasuredReplay& one : steps) {
    const ErrorBounds bounds = one_gpu_replay_bounds(steps, one.model, one.mean_op).bounds;
    const double error = one.replayed / one.measured - 1;
    if (error < bounds.low || error > bounds.high)
      outside.insert(fmt::format("{} {:.0f} ms", one.model, 1e3 * one.measured.si()));
  }
  CHECK(outside == std::set<std::string>{"bert_base 44 ms", "gpt2_medium 90 ms", "resnet50 38 ms",
                                         "vgg16 55 ms", "vit_b_16 43 ms"});
}

TEST_CASE("a trace may name a part of a model and a length") {
  Circumstances of = replicas(1);
  of.mean_op = Seconds{300e-6};
  const auto bounds_of_model = [&](const char* model) {
    of.use.model = model;
    return bounds_of(*replay_error(nullptr, of));
  };
  CHECK(bounds_of_model("vgg16 with 4 layers@512") == bounds_of_model("vgg16"));
  CHECK(bounds_of_model("vgg16") != bounds_of_model("alexnet"));
}

TEST_CASE("a table of measured steps without a number or a column is refused") {
  const std::string header = "model,trace,step_time_s,kernel_time_s,mean_op_us\n";
  CHECK(read_measured_replays(header + "resnet50,,0.03,0.02,10\n").front().mean_op.si() ==
        doctest::Approx(10e-6));
  CHECK_THROWS_AS(read_measured_replays(header + "resnet50,,0.03,0,10\n"), InputError);
  CHECK_THROWS_AS(read_measured_replays(header + "resnet50,,0.03s,0.02,10\n"), InputError);
  CHECK_THROWS_AS(read_measured_replays("model,trace\nresnet50,\n"), InputError);
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
