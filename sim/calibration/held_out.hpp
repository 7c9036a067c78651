#pragma once
// The error of a fit on unseen kernels: cross-validation over shapes, through op_time, so that the tested
// prediction is the one used in a simulation.

#include "calibration/kernels.hpp"
#include "calibration/spread.hpp"
#include "compute/gpu_profile.hpp"

#include <cstddef>
#include <vector>

namespace trainyard {

/// Holds out every kernel once, in its fold (kernels.hpp), and predicts it by a fit to the other folds: by
/// its curve alone, and corrected by the nearest of the other folds' kernels, of whose products at most
/// `keep` of each type stay, as with the profile. One row, by name, per group that is fitted in every fold.
/// A vector op timed by a framework is predicted with the other folds' fixed time, and counts only if it
/// takes longer than the framework's dispatch.
std::vector<HeldOutError> held_out_errors(const GpuProfile& specification, const MeasuredKernels& measured,
                                          std::size_t keep = most_kept_products);

/// The error of `gpu` on measured kernels, per group.
std::vector<HeldOutError> errors_of(const GpuProfile& gpu, const KernelTable& measured);

}  // namespace trainyard
