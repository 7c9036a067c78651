#pragma once
// A GPU profile with errors of held-out kernels.

#include "compute/gpu_profile.hpp"

#include <string>

namespace trainyard::testing {

inline HeldOutError held_out(const std::string& kernels, double mape) {
  return {.kernels = kernels, .count = 40, .mape = mape, .median = 0.03, .p90 = 0.25, .curve_mape = 0.13};
}

inline GpuProfile calibrated() {
  GpuProfile gpu;
  gpu.calibration.emplace();
  gpu.calibration->held_out = {held_out("gemm fp16", 0.097), held_out("gemm fp32", 0.049),
                               held_out("softmax", 0.057)};
  return gpu;
}

}  // namespace trainyard::testing
