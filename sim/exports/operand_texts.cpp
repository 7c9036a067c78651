#include "exports/operand_texts.hpp"

#include "units/text.hpp"

#include <cmath>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// Values of a row of an embedding's table: those of the op over its tokens. Empty if it is no whole number.
std::optional<double> row_length(const Trace& trace, const VectorShape& shape) {
  const double tokens = static_cast<double>(trace.batch_per_gpu) * trace.sequence_length.value_or(0);
  if (!(tokens >= 1) || std::fmod(shape.elements, tokens) != 0) return std::nullopt;
  return shape.elements / tokens;
}

OperandTexts of_convolution(const Op& op, const ConvShape& shape) {
  const auto size = [&](int input, int window, int pad) {
    return (input + 2 * pad - window) / shape.stride + 1;
  };
  const std::string input =
      fmt::format("[{},{},{},{}]", shape.batch, shape.in_channels, shape.height, shape.width);
  const std::string weight = fmt::format("[{},{},{},{}]", shape.out_channels,
                                         shape.in_channels / shape.groups, shape.kernel_h, shape.kernel_w);
  const std::string rest =
      fmt::format(R"("[{0}, {0}]","[{1}, {2}]","[1, 1]")", shape.stride, shape.pad_h, shape.pad_w);
  if (op.phase != Phase::backward) {
    return {.dims = fmt::format("[{},{},[],[],[],[],[]]", input, weight),
            .values = fmt::format(R"(["","","",{},"{}"])", rest, shape.groups)};
  }
  const std::string output = fmt::format("[{},{},{},{}]", shape.batch, shape.out_channels,
                                         size(shape.height, shape.kernel_h, shape.pad_h),
                                         size(shape.width, shape.kernel_w, shape.pad_w));
  return {.dims = fmt::format("[{},{},{},[],[],[],[],[],[],[],[]]", output, input, weight),
          .values = fmt::format(R"(["","","","",{},"False","[0, 0]","{}","[True, True, False]"])", rest,
                                shape.groups)};
}

OperandTexts of_product(const Op& op, const GemmShape& shape) {
  if (op.kind == OpKind::attention) {  // queries, keys and values
    return {.dims = fmt::format("[[{0},{1},{3}],[{0},{2},{3}],[{0},{2},{3}]]", shape.batch, shape.m, shape.n,
                                shape.k),
            .values = {}};
  }
  if (shape.batch > 1) {
    return {.dims = fmt::format("[[{0},{1},{3}],[{0},{3},{2}]]", shape.batch, shape.m, shape.n, shape.k),
            .values = {}};
  }
  const bool is_linear = op.phase != Phase::backward && shape.transpose_b && !shape.transpose_a;
  if (is_linear)
    return {.dims = fmt::format("[[{},{}],[{},{}]]", shape.m, shape.k, shape.n, shape.k), .values = {}};
  return {.dims = fmt::format("[[{},{}],[{},{}]]", shape.m, shape.k, shape.k, shape.n), .values = {}};
}

}  // namespace

std::optional<double> table_rows(const Trace& trace, const Op& embedding) {
  const auto* shape = std::get_if<VectorShape>(&embedding.shape);
  const std::optional<double> length = shape == nullptr ? std::nullopt : row_length(trace, *shape);
  if (!length) return std::nullopt;
  for (const Op& op : trace.ops) {
    if (op.phase != Phase::backward || op.layer != embedding.layer) continue;
    for (const Gradient& gradient : op.gradients) {
      if (gradient.elements >= *length && std::fmod(gradient.elements, *length) == 0)
        return gradient.elements / *length;
    }
  }
  return std::nullopt;
}

OperandTexts operand_texts_of(const Op& op, const Trace& trace, std::optional<double> rows) {
  if (const auto* conv = std::get_if<ConvShape>(&op.shape)) return of_convolution(op, *conv);
  if (const auto* product = std::get_if<GemmShape>(&op.shape)) return of_product(op, *product);
  const auto* vector = std::get_if<VectorShape>(&op.shape);
  if (vector == nullptr || !(vector->elements >= 1) || vector->elements != std::floor(vector->elements))
    return {};
  if (op.kind == OpKind::embedding && op.phase == Phase::forward) {
    const std::optional<double> length = row_length(trace, *vector);
    if (!length || !rows) return {};
    return {.dims = fmt::format("[[{},{}],[{},{}]]", shortest(*rows), shortest(*length), trace.batch_per_gpu,
                                trace.sequence_length.value_or(1)),
            .values = {}};
  }
  return {.dims = fmt::format("[[{}]]", shortest(vector->elements)), .values = {}};
}

}  // namespace trainyard
