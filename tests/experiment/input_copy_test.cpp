#include "experiment/input_copy.hpp"

#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

ResolvedExperiment alexnet_on(const std::string& gpus, const Overrides& more = {}) {
  Overrides overrides{{"platform", "p2_16xlarge"},
                      {"model", "alexnet_mxnet"},
                      {"stack", "mxnet_kvstore"},
                      {"batch_per_gpu", "512"},
                      {"gpus", gpus},
                      {"random.gpus", "none"}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::shipped_experiment("resnet50_dgx2", overrides);
}

double seconds(const ResolvedExperiment& resolved, int gpus) { return input_copy_time(resolved, gpus).si(); }

}  // namespace

TEST_CASE("copies of samples share the links of a node") {
  const ResolvedExperiment all = alexnet_on("16");
  const double image = 3 * 224 * 224 * 4.0;
  const double pcie = 16 * 0.7e9;  // lanes
  const double between_sockets = 6e9;
  constexpr double latency = 1e-5;
  const auto is = [&](int gpus, double time) {
    CAPTURE(gpus);
    CHECK(seconds(all, gpus) > time);
    CHECK(seconds(all, gpus) < time + latency);
  };
  is(1, 512 * image / pcie);
  is(4, 4 * 512 * image / pcie);              // below one port of the CPU
  is(8, 4 * 512 * image / pcie);              // two ports
  is(16, 8 * 512 * image / between_sockets);  // eight GPUs of the other socket
}

TEST_CASE("a step waits for its samples, and only a stack that does not hide that") {
  const auto sum_of = [](const ResolvedExperiment& resolved, OpRole role) {
    double sum = 0;
    for (const Op& op : resolved.classes.front().trace.ops) {
      if (op.kind == OpKind::host && op.role == role) sum += op.duration->si();
    }
    return sum;
  };
  const ResolvedExperiment all = alexnet_on("16");
  CHECK(sum_of(all, OpRole::layer) == doctest::Approx(seconds(all, 1)));
  CHECK(sum_of(all, OpRole::ranks_overhead) == doctest::Approx(seconds(all, 16) - seconds(all, 1)));
  const ResolvedExperiment hidden = alexnet_on("16", {{"stack", "horovod_0_20"}});
  CHECK(seconds(hidden, 16) == 0);
  CHECK(seconds(alexnet_on("1", {{"stack.input_copy.bytes_per_value", "2"}}), 1) ==
        doctest::Approx(seconds(all, 1) / 2).epsilon(1e-3));
}
