#pragma once
// Kernels ready to be launched, first of all our own, for the ops that memory bandwidth limits: each with its
// operands on the GPU in several cold copies and with a reference. measure_vector.cu times them; the overlap
// and power measurements take the addition.

#include "dtype.hpp"
#include "timer.cuh"

#include <cstdint>
#include <functional>
#include <string>

namespace trainyard::cuda {

/// What to prepare: a row of the plan with its variant taken apart.
struct VectorWork {
  std::string variant;        ///< "add", "sum", "nchw", "forward", "adam" ...
  Dtype dtype = Dtype::fp32;  ///< of the values; statistics, parameters of norms and their gradients are fp32
  std::int64_t elements = 0;
  int size = 0;  ///< channels of batch_norm, row width of layer_norm, softmax and embedding
};

/// A kernel (some ops need several) with its operands, which live as long as any copy of this.
struct PreparedKernel {
  Launch launch;                  ///< enqueues one call, on the operands' copy that `repetition` says
  std::function<double()> check;  ///< after exactly one call, repetition 0, has ended: the largest relative
                                  ///< error of sampled results. Throws WrongResult.
};

/// Each throws OutOfMemory, CudaError, and MeasurementFailed if the elements are no whole number of channels
/// or rows or the variant is unknown. The traffic of each is in the comment that opens its file.
PreparedKernel prepare_elementwise(const VectorWork& work);  ///< add, relu, gelu, chain4
PreparedKernel prepare_dropout(const VectorWork& work);
PreparedKernel prepare_reduction(const VectorWork& work);            ///< sum
PreparedKernel prepare_batch_norm_forward(const VectorWork& work);   ///< nchw, nhwc
PreparedKernel prepare_batch_norm_backward(const VectorWork& work);  ///< nchw, nhwc
PreparedKernel prepare_layer_norm(const VectorWork& work);           ///< forward, backward
PreparedKernel prepare_softmax(const VectorWork& work);              ///< forward, backward
PreparedKernel prepare_embedding(const VectorWork& work);            ///< forward, backward
PreparedKernel prepare_optimizer(const VectorWork& work);            ///< momentum, adam, lamb; fp32 only

/// result = a + b of `elements` values: prepare_elementwise of "add".
PreparedKernel prepare_add(Dtype dtype, std::int64_t elements);

}  // namespace trainyard::cuda
