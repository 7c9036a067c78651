#pragma once
// The kernels of an optimizer that updates lists of tensors (multi_tensor_apply).

#include "config/keys.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace trainyard {

/// How an optimizer updates all tensors.
enum class OptimizerKernels { foreach_, fused, loop };  // NOLINT(readability-identifier-naming): else a macro

struct TensorLaunch {
  int tensors = 0;    ///< tensors that the kernel touches
  double values = 0;  ///< their values that the kernel touches
};

/// The kernels of one pass over `tensors` (their numbers of values): each takes at most `most_tensors` and
/// 320 chunks of 65,536 values; a tensor may continue in the next kernel. A kernel of a single tensor takes
/// all of it. Source: PyTorch aten/src/ATen/native/cuda/MultiTensorApply.cuh, multi_tensor_apply, kChunkSize
/// and the depth_to_max tables.
std::vector<TensorLaunch> tensor_launches(const std::vector<double>& tensors, int most_tensors);

namespace config {

template <>
struct Names<OptimizerKernels> {
  static constexpr std::string_view what = "kernels of an optimizer";
  static constexpr std::array table{
      Name{"foreach", OptimizerKernels::foreach_, "one for each operation on lists of tensors"},
      Name{"fused", OptimizerKernels::fused, "one for all operations on a list"},
      Name{"loop", OptimizerKernels::loop, "one for each operation on each tensor"}};
};

}  // namespace config
}  // namespace trainyard
