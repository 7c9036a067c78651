#pragma once
// Where the kernel times of a GPU's profile come from, in words for lists.

#include "compute/gpu_profile.hpp"

#include <string>

namespace trainyard {

/// The origin of a profile's rates and their error in a line: "fitted: vector 1-6 %; scaled from
/// v100_sxm2_16gb: gemm 19-33 %, conv 26-44 %".
std::string calibration_line(const GpuProfile& gpu);

/// Where the times of a profile's matrix products come from: "measured" (kernels by shape), "fitted" (a curve
/// of its own), "scaled" (another GPU's curve) or "assumed".
std::string kernel_basis(const GpuProfile& gpu);

}  // namespace trainyard
