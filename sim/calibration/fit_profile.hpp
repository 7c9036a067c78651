#pragma once
// From measured kernels to the curves of a GPU profile. Everything they cover is fitted; other figures stay
// as in the specification: memory, peaks, power, and rates of kernels without recordings.

#include "calibration/fit_curves.hpp"
#include "calibration/kernels.hpp"
#include "compute/gpu_profile.hpp"

#include <map>
#include <optional>
#include <string>

namespace trainyard {

/// The profile's efficiency of attention holds for a step, forward and backward; recordings have forward
/// passes alone. Assumed for all GPUs: the loss of published backward passes on an A100 (a100_sxm4_80gb).
inline constexpr double attention_of_step = 0.9;

/// Four numbers need this many passes.
inline constexpr std::size_t fewest_attention_passes = 40;

struct FittedProfile {
  GpuProfile gpu;                     ///< its kernel_table holds the kernels
  std::map<std::string, int> fitted;  ///< number of kernels in each fitted group
  /// Fits of the groups timed by a framework; the profile uses only their bandwidth fractions.
  std::map<std::string, DispatchFit> dispatched;
  std::optional<CastFit>
      cast;  ///< of linear layers in 8 bits; their products are in the kernel_table without it
};

/// Fits every group with at least `fewest` kernels for which the specification has a peak. If one pass of
/// convolutions is fitted and another has no figures at all, the latter is assumed to equal the former. Calls
/// of linear layers with a cast are fitted if they are many (`detailed`).
/// `sources`: the source of each group's fit, for the profile.
FittedProfile fit_profile(const GpuProfile& specification, const MeasuredKernels& measured,
                          const std::map<std::string, std::string>& sources = {},
                          std::size_t fewest = fewest_kernels);

}  // namespace trainyard
