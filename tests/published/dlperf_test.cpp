// The DLPerf cluster against OneFlow's published ResNet-50 runs. One number is fitted: how long a kernel
// takes, on the run of one GPU. Everything that more GPUs add is predicted.

#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace trainyard;

namespace {

constexpr double one_gpu_images_per_s = 397.64;

struct PublishedThroughput {
  int nodes, gpus;
  double images_per_s;
};

// Oneflow-Inc/DLPerf c89430b, resnet50_oneflow_v0.2_report_1009.md, lines 70-73: FP32, batch 128 per GPU.
constexpr PublishedThroughput published[] = {{1, 8, 3130.34}, {2, 16, 6260.30}, {4, 32, 12411.97}};

Run dlperf(int nodes, int gpus, double scale) {
  const ResolvedExperiment resolved = testing::shipped_experiment(
      "resnet50_dlperf",
      {{"nodes", std::to_string(nodes)},
       {"gpus", std::to_string(gpus)},
       {"precision", "fp32"},
       {"software", "ideal"},
       {"batch_per_gpu", "128"},
       {"stack.compute_scale", fmt::format("{{value: {}, fitted: the one-GPU run}}", scale)}});
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

}  // namespace

TEST_CASE("one scale fitted on one GPU predicts 8, 16 and 32 GPUs of the DLPerf cluster within 3 %") {
  const double scale = dlperf(1, 1, 1).pace.throughput / one_gpu_images_per_s;
  CHECK(dlperf(1, 1, scale).pace.throughput == doctest::Approx(one_gpu_images_per_s).epsilon(1e-9));
  for (const auto& [nodes, gpus, images_per_s] : published) {
    const Run run = dlperf(nodes, gpus, scale);
    CHECK(run.calibrated_on == std::vector<std::string>{"the one-GPU run"});
    CHECK(run.pace.throughput == doctest::Approx(images_per_s).epsilon(0.03));
    const double linear_ms = 1e3 * 128 / one_gpu_images_per_s;
    MESSAGE(fmt::format(
        "{} GPUs: {:.1f} images/s, published {:.1f}, {:+.2f} %; over linear {:.2f} ms, published {:.2f} ms",
        gpus, run.pace.throughput, images_per_s, 100 * (run.pace.throughput / images_per_s - 1),
        run.pace.time.si() * 1e3 - linear_ms, 1e3 * 128 * gpus / images_per_s - linear_ms));
  }
}
