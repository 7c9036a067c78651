#pragma once
// Kernels ready for launching: each with its operands on the GPU in several cold copies and with a reference.
// Three are this program's own, one for each way of using memory bandwidth: a stream, a reduction and a
// gather. The overlap and power measurements use the addition.

#include "dtype.hpp"
#include "timer.cuh"

#include <cstdint>
#include <functional>

namespace trainyard::cuda {

/// A kernel with its operands, which exist as long as any copy of this object.
struct PreparedKernel {
  Launch launch;                  ///< enqueues one call, on copy `repetition % copies` of the operands
  std::function<double()> check;  ///< after exactly one call, repetition 0, has ended: the largest relative
                                  ///< error of sampled results. Throws WrongResult.
};

/// Each throws OutOfMemory and CudaError. The first comment of each file describes its traffic.
PreparedKernel prepare_add(Dtype dtype, std::int64_t elements);
PreparedKernel prepare_sum(Dtype dtype, std::int64_t elements);
/// `elements` values in rows of `width`, a divisor.
PreparedKernel prepare_gather(Dtype dtype, std::int64_t elements, int width);

}  // namespace trainyard::cuda
