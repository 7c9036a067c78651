#pragma once
// Kernels ready to be launched: each with its operands on the GPU in several cold copies and with a
// reference. Three are our own, one for each way to use memory bandwidth: a stream, a reduction and a gather.
// The overlap and power measurements take the addition.

#include "dtype.hpp"
#include "timer.cuh"

#include <cstdint>
#include <functional>

namespace trainyard::cuda {

/// A kernel with its operands, which live as long as any copy of this.
struct PreparedKernel {
  Launch launch;                  ///< enqueues one call, on the operands' copy that `repetition` says
  std::function<double()> check;  ///< after exactly one call, repetition 0, has ended: the largest relative
                                  ///< error of sampled results. Throws WrongResult.
};

/// Each throws OutOfMemory and CudaError. The traffic of each is in the comment that opens its file.
PreparedKernel prepare_add(Dtype dtype, std::int64_t elements);
PreparedKernel prepare_sum(Dtype dtype, std::int64_t elements);
/// `elements` values in rows of `width`, which divides them.
PreparedKernel prepare_gather(Dtype dtype, std::int64_t elements, int width);

}  // namespace trainyard::cuda
