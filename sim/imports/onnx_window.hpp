#pragma once
// Windows of convolutions and poolings in an ONNX model.

#include "imports/onnx_node.hpp"

#include <utility>

namespace trainyard {

/// A window in one direction, in values.
struct OnnxWindowSide {
  std::int64_t size = 0, kernel = 0, stride = 1, before = 0, after = 0;
  /// Size of the output, with so much padding on both sides together.
  [[nodiscard]] std::int64_t out(std::int64_t padding, bool rounds_up = false) const {
    return (size + padding - kernel + (rounds_up ? stride - 1 : 0)) / stride + 1;
  }
};

/// Height and width of the window of the node, over a map of channels, height and width, with the padding
/// that the node gives or that auto_pad stands for. Throws InputError for windows that are not
/// two-dimensional, are dilated, have unequal strides, or are larger than the map.
std::pair<OnnxWindowSide, OnnxWindowSide> window_of(const OnnxNodeAtHand& at, const OnnxSizes& map,
                                                    const OnnxSizes& kernel);

}  // namespace trainyard
