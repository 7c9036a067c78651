#include "calibration/calibrate_gpu.hpp"
#include "config/diagnostic.hpp"

#include <array>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

/// Operations per clock and multiprocessor, multiplication and addition counted separately; 0: no such unit.
/// For 8.6 and 8.9 those of professional boards: GeForce has half of them in 16 bits, which a fit then shows.
struct Architecture {
  double compute_capability = 0;
  double fp32 = 0, tf32 = 0, fp16 = 0, bf16 = 0;
};

constexpr const char* published =
    "NVIDIA's white papers of the architectures (Pascal GP100, Volta, Turing, Ampere GA100 and GA102, Ada, "
    "Hopper), dense rates";
constexpr std::array architectures{
    Architecture{6.0, 128, 0, 0, 0},          Architecture{7.0, 128, 0, 1024, 0},
    Architecture{7.5, 128, 0, 1024, 0},       Architecture{8.0, 128, 1024, 2048, 2048},
    Architecture{8.6, 256, 512, 1024, 1024},  Architecture{8.9, 256, 512, 1024, 1024},
    Architecture{9.0, 256, 2048, 4096, 4096},
};

template <class T>
T needed(const std::optional<T>& fact, std::string_view key) {
  if (!fact) {
    throw InputError(fmt::format("the recording does not give the GPU's '{}'", key),
                     "name a profile with --specification, or add the line '# " + std::string(key) +
                         ": ...' to the recording");
  }
  return *fact;
}

const Architecture& architecture_of(double compute_capability) {
  for (const Architecture& known : architectures) {
    if (known.compute_capability == compute_capability) return known;
  }
  throw InputError(fmt::format("the peak rates of compute capability {} are not known", compute_capability),
                   "name a profile with --specification");
}

Sourced<double> assumed(double value, std::string why) {
  return {value, Provenance::assumed, std::move(why)};
}

}  // namespace

GpuProfile specification_of(const RecordingFacts& facts, const std::string& name) {
  const std::string driver = "as the driver reports it";
  GpuProfile gpu;
  gpu.name = name;
  gpu.title = facts.gpu;
  gpu.compute_capability = {needed(facts.compute_capability, "compute_capability"), Provenance::specified,
                            driver};
  gpu.memory.capacity = {needed(facts.memory_capacity, "memory_capacity"), Provenance::specified, driver};
  gpu.memory.bandwidth = {needed(facts.memory_bandwidth, "memory_bandwidth"), Provenance::specified,
                          driver + ": memory clock and bus width"};
  if (facts.power_limit) gpu.tdp = {*facts.power_limit, Provenance::specified, driver + ": power limit"};

  const Architecture& known = architecture_of(gpu.compute_capability.value);
  const double count = needed(facts.sm_count, "sm_count");
  gpu.sms = {static_cast<int>(count), Provenance::specified, driver};
  gpu.kernel_share = {
      0.5, Provenance::assumed,
      "not published; two kernels that each ask for the whole GPU get half of it each (max-min fair)"};
  const double clock = needed(facts.sm_clock_mhz, "sm_clock");
  const auto rates = [&](double per_clock) {
    MatrixRates unit;
    unit.peak = {
        FlopRate(count * clock * 1e6 * per_clock), Provenance::specified,
        fmt::format("{} multiprocessors x {} MHz x {} per clock; {}", count, clock, per_clock, published)};
    return unit;
  };
  gpu.matrix.fp32 = rates(known.fp32);
  if (known.tf32 > 0) gpu.matrix.tf32 = rates(known.tf32);
  if (known.fp16 > 0) gpu.matrix.fp16 = rates(known.fp16);
  if (known.bf16 > 0) gpu.matrix.bf16 = rates(known.bf16);

  const std::string v100 = "as on a V100, until it is measured";
  gpu.vector = {.elementwise = assumed(0.9, v100),
                .batch_norm = assumed(0.85, v100),
                .layer_norm = assumed(0.6, v100),
                .pooling = assumed(0.9, v100),
                .softmax = assumed(0.9, v100),
                .softmax_wide = assumed(0.6, v100),
                .embedding = assumed(0.6, v100),
                .optimizer = assumed(0.9, v100),
                .t0 = {Seconds(5e-6), Provenance::assumed, v100}};
  gpu.roofline = {{0.5, 0.7, Seconds(10e-6)}, Provenance::assumed, v100};
  return gpu;
}

}  // namespace trainyard
