#include "experiment/slowest_gpu.hpp"

#include "errors_of.hpp"
#include "random/order_statistics.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

double slowest_of(Overrides overrides, const std::string& experiment = "resnet50_dgx2") {
  return shipped_experiment(experiment, overrides).stack.slowest_gpu;
}

}  // namespace

TEST_CASE("a step waits for the slowest of its GPUs, which vary as their profile says") {
  CHECK(slowest_of({{"gpus", "16"}}) == 1 + random::expected_maximum(16, 0.015));
  CHECK(
      slowest_of({{"gpus", "2"},
                  {"gpu.variation", "{gpu: {value: 0.03, assumed: a}, step: {value: 0.04, assumed: b}}"}}) ==
      1 + random::expected_maximum(2, 0.05));
  CHECK(slowest_of({{"gpus", "1"}}) == 1);
  CHECK(slowest_of({{"gpu.variation", "{}"}}) == 1);
}

TEST_CASE("GPUs are equal for kernels alone, if nothing waits for them, and if they are drawn") {
  CHECK(slowest_of({{"software", "ideal"}}) == 1);
  CHECK(slowest_of({{"software", "ideal"}, {"random.gpus", "slowest"}}) > 1);
  CHECK(slowest_of({{"random.gpus", "none"}}) == 1);
  CHECK(slowest_of({{"random.gpus", "profile"}}) == 1);
  CHECK(slowest_of({{"random.gpu", "{kind: normal, sd: 0.1}"}}) == 1);
  const auto error_with = [](const Overrides& overrides) {
    const auto errors = errors_of([&] { slowest_of(overrides); });
    return errors.empty() ? std::string() : errors.front().message;
  };
  CHECK(error_with({{"random.gpus", "slowest"}, {"random.gpu", "{kind: normal, sd: 0.1}"}})
            .starts_with("'gpu' draws the GPUs' factors"));
  CHECK(error_with({{"sync.kind", "parameter_server"}, {"sync.update", "async"}, {"random.gpus", "slowest"}})
            .starts_with("no update waits"));
}

TEST_CASE("other disturbances leave the slowest GPU as slow as it is, so that they never make a job faster") {
  const double slowest = slowest_of({});
  CHECK(slowest > 1.02);
  CHECK(slowest_of({{"random.slow", "[{node: 0, factor: 1.01}]"}}) == slowest);
  CHECK(slowest_of({{"random.step", "{kind: normal, sd: 0.001}"}}) == slowest);
  CHECK(slowest_of({{"random.pauses", "{every: 100 s, duration: 1 ms}"}}) == slowest);
}

TEST_CASE("an update that waits for k of n ranks is as slow as the last of these") {
  const auto with = [](Overrides rule) {
    rule.emplace_back("sync.kind", "parameter_server");
    return slowest_of(rule);
  };
  const double all = with({{"sync.update", "sync"}});
  CHECK(all > 1.02);
  CHECK(with({{"sync.update", "async"}}) == 1);
  CHECK(with({{"sync.update", "k_sync"}, {"sync.k", "16"}}) == all);
  const double fifteen = with({{"sync.update", "k_sync"}, {"sync.k", "15"}});
  CHECK(fifteen < all);
  CHECK(fifteen > with({{"sync.update", "k_sync"}, {"sync.k", "14"}}));
  CHECK(with({{"sync.update", "sync"}, {"sync.backups", "1"}}) == fifteen);
}
