#include "conv_reference.hpp"

#include "compute/work.hpp"

#include <cmath>

namespace trainyard::cuda {
namespace {

using Place = std::array<std::int64_t, 4>;

void add(ConvSum& sum, double a, double b) {
  sum.value += a * b;
  sum.magnitude += std::abs(a * b);
}

/// The loops of the definition, one function per pass; all use the same three tensors.
struct Definition {
  const ConvShape& shape;
  const ConvTensors& tensors;
  const ConvOperands& operands;

  [[nodiscard]] std::int64_t in_per_group() const { return tensors.w.dims[1]; }
  [[nodiscard]] std::int64_t out_per_group() const { return shape.out_channels / shape.groups; }

  [[nodiscard]] bool in_image(std::int64_t row, std::int64_t column) const {
    return row >= 0 && row < shape.height && column >= 0 && column < shape.width;
  }
  [[nodiscard]] double x(const Place& at) const { return operands.x(tensors.x.index_of(at)); }
  [[nodiscard]] double w(const Place& at) const { return operands.w(tensors.w.index_of(at)); }
  [[nodiscard]] double y(const Place& at) const { return operands.y(tensors.y.index_of(at)); }

  [[nodiscard]] ConvSum forward(const Place& at) const {
    const auto [n, k, p, q] = at;
    const std::int64_t first_channel = k / out_per_group() * in_per_group();
    ConvSum sum;
    for (std::int64_t r = 0; r < shape.kernel_h; ++r) {
      for (std::int64_t s = 0; s < shape.kernel_w; ++s) {
        const std::int64_t row = p * shape.stride - shape.pad_h + r;
        const std::int64_t column = q * shape.stride - shape.pad_w + s;
        if (!in_image(row, column)) continue;
        for (std::int64_t c = 0; c < in_per_group(); ++c) {
          add(sum, x({n, first_channel + c, row, column}), w({k, c, r, s}));
        }
      }
    }
    return sum;
  }

  [[nodiscard]] ConvSum dgrad(const Place& at) const {
    const auto [n, channel, row, column] = at;
    const std::int64_t first_out = channel / in_per_group() * out_per_group();
    ConvSum sum;
    for (std::int64_t r = 0; r < shape.kernel_h; ++r) {
      for (std::int64_t s = 0; s < shape.kernel_w; ++s) {
        // the output that depends on this input value through (r, s), if there is one
        const std::int64_t down = row + shape.pad_h - r;
        const std::int64_t right = column + shape.pad_w - s;
        if (down < 0 || right < 0 || down % shape.stride != 0 || right % shape.stride != 0) continue;
        const std::int64_t p = down / shape.stride;
        const std::int64_t q = right / shape.stride;
        if (p >= tensors.y.dims[2] || q >= tensors.y.dims[3]) continue;
        for (std::int64_t k = first_out; k < first_out + out_per_group(); ++k) {
          add(sum, y({n, k, p, q}), w({k, channel % in_per_group(), r, s}));
        }
      }
    }
    return sum;
  }

  [[nodiscard]] ConvSum wgrad(const Place& at) const {
    const auto [k, c, r, s] = at;
    const std::int64_t channel = k / out_per_group() * in_per_group() + c;
    ConvSum sum;
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      for (std::int64_t p = 0; p < tensors.y.dims[2]; ++p) {
        for (std::int64_t q = 0; q < tensors.y.dims[3]; ++q) {
          const std::int64_t row = p * shape.stride - shape.pad_h + r;
          const std::int64_t column = q * shape.stride - shape.pad_w + s;
          if (in_image(row, column)) add(sum, x({n, channel, row, column}), y({n, k, p, q}));
        }
      }
    }
    return sum;
  }
};

}  // namespace

ConvSum conv_reference(ConvPass pass, const ConvShape& shape, const ConvTensors& tensors,
                       const ConvOperands& operands, std::uint64_t index) {
  const Definition definition{shape, tensors, operands};
  const Place at = tensors.result_of(pass).coordinates_of(index);
  switch (pass) {
    case ConvPass::forward:
      return definition.forward(at);
    case ConvPass::dgrad:
      return definition.dgrad(at);
    case ConvPass::wgrad:
      return definition.wgrad(at);
  }
  return {};
}

std::int64_t terms_of(ConvPass pass, const ConvShape& shape) {
  const std::int64_t window = static_cast<std::int64_t>(shape.kernel_h) * shape.kernel_w;
  switch (pass) {
    case ConvPass::forward:
      return window * shape.in_channels / shape.groups;
    case ConvPass::dgrad:
      return window * shape.out_channels / shape.groups;
    case ConvPass::wgrad:
      return static_cast<std::int64_t>(shape.batch) * output_size(shape).height * output_size(shape).width;
  }
  return 1;
}

}  // namespace trainyard::cuda
