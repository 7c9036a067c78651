#pragma once
// The three tensors of a convolution and the layout of their values: the same numbers describe them to cuDNN
// and give the reference the random value of each coordinate.

#include "shapes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard::cuda {

enum class ConvPass { forward, dgrad, wgrad };  ///< y from x and w; dx from dy and w; dw from x and dy

/// The pass for conv_forward, conv_dgrad and conv_wgrad, nothing for another op.
std::optional<ConvPass> parse_conv_pass(std::string_view op);

enum class ConvLayout { nchw, nhwc };

std::optional<ConvLayout> parse_layout(std::string_view variant);

/// A packed tensor; a filter's dimensions are channels out, channels in (of one group), rows, columns.
struct ConvTensor {
  std::array<std::int64_t, 4> dims{};     ///< batch, channels, rows, columns, whatever the layout
  std::array<std::int64_t, 4> strides{};  ///< in values, in the order of dims
  ConvLayout layout{};

  [[nodiscard]] std::int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }

  /// Index of a value in memory, counted in values.
  [[nodiscard]] std::uint64_t index_of(const std::array<std::int64_t, 4>& at) const {
    return static_cast<std::uint64_t>(at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] +
                                      at[3] * strides[3]);
  }

  /// The coordinates of the value at this index: inverse of index_of.
  [[nodiscard]] std::array<std::int64_t, 4> coordinates_of(std::uint64_t index) const;
};

/// Input (or its gradient), filter (or its gradient), output (or its gradient).
struct ConvTensors {
  ConvTensor x;
  ConvTensor w;
  ConvTensor y;

  /// The tensor that a pass computes.
  [[nodiscard]] const ConvTensor& result_of(ConvPass pass) const {
    return pass == ConvPass::forward ? y : pass == ConvPass::dgrad ? x : w;
  }
};

/// In nhwc a filter's channels are innermost as well (KRSC), like frameworks' channels_last.
ConvTensors conv_tensors(const ConvShape& shape, ConvLayout layout);

}  // namespace trainyard::cuda
