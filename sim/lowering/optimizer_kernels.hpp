#pragma once
// The kernels of an optimizer that updates lists of tensors (multi_tensor_apply).

#include <vector>

namespace trainyard {

struct TensorLaunch {
  int tensors = 0;    ///< that the kernel touches
  double values = 0;  ///< of these, by this kernel
};

/// The kernels of one pass over `tensors` (their numbers of values): each takes at most `most_tensors` and 320
/// chunks of 65,536 values; a tensor may continue in the next kernel. Source: PyTorch
/// aten/src/ATen/native/cuda/MultiTensorApply.cuh, multi_tensor_apply, kChunkSize and the depth_to_max tables.
std::vector<TensorLaunch> tensor_launches(const std::vector<double>& tensors, int most_tensors);

}  // namespace trainyard
