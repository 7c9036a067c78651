#pragma once
// From measured kernels to the curves of a GPU profile. What they cover is fitted; every other figure stays
// as the specification has it: memory, peaks, power, and rates of kernels nobody recorded.

#include "calibration/fit_curves.hpp"
#include "calibration/kernels.hpp"
#include "compute/gpu_profile.hpp"

#include <map>
#include <string>

namespace trainyard {

struct FittedProfile {
  GpuProfile gpu;                     ///< its kernel_table holds the kernels
  std::map<std::string, int> fitted;  ///< kernels that each fitted group rests on
  /// Fits of the groups with a framework's timing; the profile has their bandwidth fractions only.
  std::map<std::string, DispatchFit> dispatched;
};

/// Fits every group with at least `fewest` kernels for which the specification has a peak. Where one
/// pass of convolutions is fitted and another is known to nobody, that one is assumed to be as the first.
/// `sources` says of each group what its fit rests on, for the profile.
FittedProfile fit_profile(const GpuProfile& specification, const MeasuredKernels& measured,
                          const std::map<std::string, std::string>& sources = {},
                          std::size_t fewest = fewest_kernels);

}  // namespace trainyard
