#pragma once
// Output of `trainyard calibrate gpu`: errors of a profile on kernels that its fits have not seen.

#include "compute/gpu_profile.hpp"

#include <string>

namespace trainyard {

/// The held-out errors of a profile and those of scaling, one line per group of kernels. Empty if it has
/// none.
std::string calibration_table(const GpuProfile& gpu);

/// The origin of a profile's rates and their error in a line: "fitted: vector 1-6 %; scaled from
/// v100_sxm2_16gb: gemm 19-33 %, conv 26-44 %".
std::string calibration_line(const GpuProfile& gpu);

}  // namespace trainyard
