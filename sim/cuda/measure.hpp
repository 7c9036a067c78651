#pragma once
// The measurements, one function per op of the plan (the ops of one function are in its comment). All work on
// the current GPU, return Skipped if it cannot run the request, and throw WrongResult, CudaError or
// MeasurementFailed. A request's shape, variant and dtype have been checked by plan.hpp.

#include "measurement.hpp"

namespace trainyard::cuda {

Outcome measure_gemm(const Request& request);    ///< gemm
Outcome measure_conv(const Request& request);    ///< conv_forward, conv_dgrad, conv_wgrad
Outcome measure_vector(const Request& request);  ///< elementwise, reduction, embedding: this program's own
                                                 ///< kernels
Outcome measure_launch(const Request& request);  ///< launch
Outcome measure_copy(const Request& request);    ///< copy
Outcome measure_all_reduce(const Request& request);  ///< all_reduce
Outcome measure_overlap(const Request& request);     ///< overlap
Outcome measure_power(const Request& request);       ///< power

/// Calls the function above for the request's op. Turns OutOfMemory into Skipped, a CUDA error after which
/// the GPU still answers into MeasurementFailed, and any other into GpuLost.
Outcome measure(const Request& request);

}  // namespace trainyard::cuda
