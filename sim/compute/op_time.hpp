#pragma once
// Time of an op on a GPU: the first of a measured table for its shape, a curve fitted for its class, a
// roofline.

#include "compute/gpu_profile.hpp"
#include "compute/gpu_use.hpp"
#include "workload/trace.hpp"

namespace trainyard {

struct OpTime {
  Seconds duration;
  ComputeSource source{};
  GpuUse use = {};        ///< what it needs of the GPU; op_time() leaves it out
  Seconds overhead = {};  ///< of the duration: the software's own; op_time() knows of none
};

/// The data type that a precision asks matrix units for.
Dtype dtype_of(Precision precision);

/// The data type of the matrix work of a precision on `gpu`: tf32 is fp32 where there is no TF32 unit. Throws
/// InputError if the GPU has no unit for it (bf16 before Ampere).
Dtype matrix_dtype(const GpuProfile& gpu, Precision precision);

/// Peak rate of matrix work in this precision, for utilisations. Throws as matrix_dtype.
FlopRate peak_rate(const GpuProfile& gpu, Precision precision);

/// The duration of one op on `gpu` in `precision` and what it rests on. `layout` is that of the activations
/// of convolutions. An op that carries a duration keeps it.
/// - convolution: the kernel table (batch interpolated, never extrapolated), else the fit of its class and
///   pass, corrected by the measured kernels nearest to it (nearest.hpp), but no less than the table's
///   largest batch and no more than its smallest (which counts as fitted all the same: nobody measured this
///   shape); in 16 bits, the fp32 time where that is shorter, as frameworks then pick it.
/// - matrix product: the kernel table (exact shape), else the fit, corrected in the same way.
/// - all others: bytes over the fraction of the memory bandwidth of their kind, corrected in the same way.
/// A rate whose provenance is `assumed` or `specified` counts as roofline, a measured or fitted one as
/// fitted. Throws as matrix_dtype, and InputError for an op of kind `measured` without a duration.
OpTime op_time(const GpuProfile& gpu, Precision precision, const Op& op, Layout layout = Layout::nchw);

}  // namespace trainyard
