#include "compute/work.hpp"

namespace trainyard {

ImageSize output_size(const ConvShape& shape) {
  return {(shape.height + 2 * shape.pad_h - shape.kernel_h) / shape.stride + 1,
          (shape.width + 2 * shape.pad_w - shape.kernel_w) / shape.stride + 1};
}

Work work_of(const ConvShape& shape, Dtype dtype) {
  const ImageSize out = output_size(shape);
  const double batch = shape.batch;
  const double weights =
      1.0 * shape.out_channels * shape.in_channels / shape.groups * shape.kernel_h * shape.kernel_w;
  const double output_pixels = batch * out.height * out.width;
  const double values =
      batch * shape.in_channels * shape.height * shape.width + output_pixels * shape.out_channels + weights;
  return {Flops(2 * output_pixels * weights), values * size_of(dtype)};
}

Work work_of(const GemmShape& shape, Dtype dtype) {
  const double m = shape.m;
  const double n = shape.n;
  const double k = shape.k;
  const Bytes bytes = is_narrow(dtype)
                          ? shape.batch * ((m * k + k * n) * size_of(dtype) + m * n * result_size(dtype))
                          : shape.batch * (m * k + k * n + m * n) * size_of(dtype);
  return {Flops(2 * shape.batch * m * n * k), bytes};
}

std::optional<double> passes_over_values(OpKind kind, Phase phase) {
  const bool is_backward = phase == Phase::backward;
  switch (kind) {
    case OpKind::batch_norm_forward:
      return 3;
    case OpKind::batch_norm_backward:
      return 5;
    case OpKind::layer_norm:
    case OpKind::softmax:
      return is_backward ? 3 : 2;
    case OpKind::embedding:  // rows are read and written; the gradient writes the whole table
      return is_backward ? std::nullopt : std::optional(2.0);
    default:
      return std::nullopt;
  }
}

}  // namespace trainyard
