// The power of the board, and its clock at that time, while it is idle, multiplies matrices, or adds vectors.

#include "background.hpp"
#include "measure.hpp"
#include "nvml.hpp"
#include "prepare_gemm.cuh"
#include "statistics.hpp"
#include "stream.cuh"

#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

namespace trainyard::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// NVML's power is a mean over the last second on many GPUs, and clocks take some tenths to settle.
constexpr double settle_s = 1.5;
constexpr double observe_s = 3;
constexpr auto between_samples = std::chrono::milliseconds(25);

/// Waits until the GPU has settled, then records power and clock.
Outcome observe(const Nvml& nvml) {
  std::this_thread::sleep_for(std::chrono::duration<double>(settle_s));
  std::vector<double> power;
  std::vector<double> clock;
  const Clock::time_point start = Clock::now();
  while (seconds_since(start) < observe_s) {
    if (const auto watts = nvml.power_w()) power.push_back(*watts);
    if (const auto mhz = nvml.sm_clock_mhz()) clock.push_back(*mhz);
    std::this_thread::sleep_for(between_samples);
  }
  Measurement result;
  result.time_us = 1e6 * seconds_since(start);
  result.repetitions = static_cast<int>(power.size());
  if (power.empty()) return Skipped{"NVML tells no power here"};
  result.power_w = std::accumulate(power.begin(), power.end(), 0.0) / static_cast<double>(power.size());
  if (!clock.empty()) result.clock_mhz = median(clock);
  return result;
}

Outcome observe_under(const PreparedKernel& kernel, const Nvml& nvml) {
  const Stream stream;
  kernel.launch(0, stream.get());
  stream.synchronize();
  const double error = kernel.check();

  Background load(kernel.launch);
  const Outcome outcome = observe(nvml);
  load.finish();
  const auto* measured = std::get_if<Measurement>(&outcome);
  if (measured == nullptr) return outcome;
  Measurement result = *measured;
  result.error = error;
  return result;
}

}  // namespace

Outcome measure_power(const Request& request) {
  const Nvml nvml(current_pci_bus_id());
  if (!nvml.power_w()) return Skipped{"NVML tells no power here"};
  if (request.variant == "idle") {
    CHECK_CUDA(cudaDeviceSynchronize());
    return observe(nvml);
  }
  try {
    if (request.variant == "gemm") {
      return observe_under(prepare_gemm({.m = 8192, .n = 8192, .k = 8192}, Dtype::fp16), nvml);
    }
    if (request.variant == "vector") {
      constexpr std::int64_t elements = (std::int64_t{256} << 20U) / 4;
      return observe_under(prepare_add(Dtype::fp32, elements), nvml);
    }
  } catch (const GemmNotPossible& reason) {
    return Skipped{reason.what()};
  }
  throw MeasurementFailed("unknown load '" + request.variant + "'");
}

}  // namespace trainyard::cuda
