#pragma once
// Output of `trainyard calibrate`: errors of a GPU profile on kernels that its fits have not seen, other
// values of a recording, and the fit of a stack.

#include "calibration/fit_stack.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/recording.hpp"
#include "published/software_fit.hpp"
#include "units/print_style.hpp"

#include <string>

namespace trainyard {

/// The held-out errors of a profile and those of scaling, one line per group of kernels. Empty if it has
/// none.
std::string calibration_table(const GpuProfile& gpu, const PrintStyle& style = {});

/// Launches, copies at the largest size, collectives, the slowdown of kernels by concurrent copies, and
/// power, one line each. Empty if the recording has none of these.
std::string device_table(const Recording& recording, const PrintStyle& style = {});

/// Every row used for the fit with its own scale, and the scale of all of them.
std::string stack_fit_table(const StackFit& fit, const PrintStyle& style = {});

/// The errors on runs left out of the fit and the factors that hold for all frameworks and GPUs.
std::string software_fit_table(const Software& software, const PrintStyle& style = {});

}  // namespace trainyard
