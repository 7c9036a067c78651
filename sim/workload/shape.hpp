#pragma once
// The shapes of ops. Separate from the trace, so that the CUDA kernels can share them (sim/cuda).

#include <compare>
#include <variant>

namespace trainyard {

struct ConvShape {
  int batch = 0, in_channels = 0, height = 0, width = 0, out_channels = 0;
  int kernel_h = 0, kernel_w = 0, stride = 1, pad_h = 0, pad_w = 0, groups = 1;
  friend auto operator<=>(const ConvShape&, const ConvShape&) = default;
};

/// C[m x n] = A[m x k] * B[k x n], `batch` times; row-major roles as in BLAS with the transposes named.
struct GemmShape {
  int batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  friend auto operator<=>(const GemmShape&, const GemmShape&) = default;
};

struct VectorShape {
  double elements = 0;
  int row = 0;  ///< values that a softmax normalises together; 0 if irrelevant
  friend bool operator==(const VectorShape&, const VectorShape&) = default;
};

using Shape = std::variant<std::monostate, ConvShape, GemmShape, VectorShape>;

}  // namespace trainyard
