#include "experiment/slowest_gpu.hpp"

#include "errors_of.hpp"
#include "random/order_statistics.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

double slowest_of(Overrides overrides, const std::string& experiment = "resnet50_dgx2") {
  return shipped_experiment(experiment, overrides).stack.slowdown.slowest;
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

TEST_CASE("GPUs are equal for kernels alone, if nothing waits for all, and if times are drawn") {
  CHECK(slowest_of({{"software", "ideal"}}) == 1);
  CHECK(slowest_of({{"software", "ideal"}, {"random.gpus", "slowest"}}) > 1);
  CHECK(slowest_of({{"random.gpus", "none"}}) == 1);
  CHECK(slowest_of({{"random.gpus", "profile"}}) == 1);
  CHECK(slowest_of({{"random.slow", "[{node: 0, factor: 2}]"}}) == 1);
  const Overrides servers{{"sync.kind", "parameter_server"}};
  const auto with = [&](Overrides rule) {
    rule.insert(rule.end(), servers.begin(), servers.end());
    return slowest_of(rule);
  };
  CHECK(with({{"sync.update", "sync"}}) > 1);
  CHECK(with({{"sync.update", "async"}}) == 1);
  CHECK(with({{"sync.update", "k_sync"}, {"sync.k", "15"}}) == 1);
  CHECK(with({{"sync.update", "k_sync"}, {"sync.k", "16"}}) > 1);
  CHECK(with({{"sync.update", "sync"}, {"sync.backups", "1"}}) == 1);
  const auto errors = errors_of([] {
    slowest_of({{"random.gpus", "slowest"}, {"random.step", "{kind: normal, sd: 0.1}"}});
  });
  REQUIRE(!errors.empty());
  CHECK(errors.front().key_path == "random.gpus");
}
