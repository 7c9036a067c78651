#pragma once
// How far a fit misses kernels it has not seen: cross-validation over shapes, through op_time, so that what
// is judged is what a simulation uses.

#include "calibration/kernels.hpp"
#include "compute/gpu_profile.hpp"

#include <vector>

namespace trainyard {

/// Every kernel is held out once, in its fold (kernels.hpp), and predicted by a fit to the other folds: by
/// its curve alone and with the nearest of the other folds' kernels. One row, by name, per group that is
/// fitted in every fold. A vector op with a framework's timing is predicted with the fixed time that the
/// other folds show, and counts only where it takes longer than the framework's dispatch.
std::vector<HeldOutError> held_out_errors(const GpuProfile& specification, const MeasuredKernels& measured);

/// How far `gpu` misses measured kernels, per group.
std::vector<HeldOutError> errors_of(const GpuProfile& gpu, const KernelTable& measured);

}  // namespace trainyard
