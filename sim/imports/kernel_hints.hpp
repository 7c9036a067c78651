#pragma once
// Hints in the names of an op's kernels: the use of matrix units and the layout of values.

#include <string_view>

namespace trainyard {

struct KernelHints {
  bool is_nhwc = false, changes_layout = false, is_tf32 = false;

  void add(std::string_view kernel) {
    const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
    changes_layout = changes_layout || has("nchwToNhwc") || has("nhwcToNchw");
    is_nhwc = is_nhwc || has("nhwc");
    is_tf32 = is_tf32 || has("tf32") || has("s1688gemm");  // cuBLAS's for A100
  }
};

}  // namespace trainyard
