#include "conv_tensors.hpp"

#include "compute/work.hpp"

namespace trainyard::cuda {
namespace {

using Order = std::array<std::size_t, 4>;

/// The dimensions from the outermost to the innermost in memory.
constexpr Order order_of(ConvLayout layout) {
  return layout == ConvLayout::nchw ? Order{0, 1, 2, 3} : Order{0, 2, 3, 1};
}

ConvTensor packed(const std::array<std::int64_t, 4>& dims, ConvLayout layout) {
  ConvTensor tensor{.dims = dims, .layout = layout};
  const Order order = order_of(layout);
  std::int64_t stride = 1;
  for (auto place = order.rbegin(); place != order.rend(); ++place) {
    tensor.strides.at(*place) = stride;
    stride *= dims.at(*place);
  }
  return tensor;
}

}  // namespace

std::optional<ConvPass> parse_conv_pass(std::string_view op) {
  if (op == "conv_forward") return ConvPass::forward;
  if (op == "conv_dgrad") return ConvPass::dgrad;
  if (op == "conv_wgrad") return ConvPass::wgrad;
  return std::nullopt;
}

std::optional<ConvLayout> parse_layout(std::string_view variant) {
  if (variant == "nchw") return ConvLayout::nchw;
  if (variant == "nhwc") return ConvLayout::nhwc;
  return std::nullopt;
}

std::array<std::int64_t, 4> ConvTensor::coordinates_of(std::uint64_t index) const {
  // not derived from strides: a dimension of one value has the same stride as another
  const Order order = order_of(layout);
  auto rest = static_cast<std::int64_t>(index);
  std::array<std::int64_t, 4> at{};
  for (auto place = order.rbegin(); place != order.rend(); ++place) {
    at.at(*place) = rest % dims.at(*place);
    rest /= dims.at(*place);
  }
  return at;
}

ConvTensors conv_tensors(const ConvShape& shape, ConvLayout layout) {
  return {.x = packed({shape.batch, shape.in_channels, shape.height, shape.width}, layout),
          .w = packed({shape.out_channels, shape.in_channels / shape.groups, shape.kernel_h, shape.kernel_w},
                      layout),
          .y = packed({shape.batch, shape.out_channels, output_size(shape).height, output_size(shape).width},
                      layout)};
}

}  // namespace trainyard::cuda
