#include "workload/make_trace.hpp"

#include "config/diagnostic.hpp"

#include <cassert>
#include <ranges>
#include <string>
#include <utility>

namespace trainyard {
namespace {

struct Setting {
  int batch = 0;
  ElementSizes sizes;
};

Op make_op(Phase phase, std::string layer, OpKind kind, Shape shape, Flops flops, Bytes bytes) {
  Op op;
  op.phase = phase;
  op.layer = std::move(layer);
  op.kind = kind;
  op.shape = shape;
  op.flops = flops;
  op.bytes = bytes;
  return op;
}

/// A layer's gradients as backward completes them: last registered first.
std::vector<Gradient> gradients_of(const Layer& layer) {
  std::vector<Gradient> gradients;
  for (const Parameter& parameter : layer.parameters | std::views::reverse) {
    gradients.push_back({parameter.name, parameter.elements});
  }
  return gradients;
}

ConvShape conv_shape(const Layer& layer, int batch) {
  assert(layer.in_shape.size() == 3);
  return {.batch = batch,
          .in_channels = layer.in_shape[0],
          .height = layer.in_shape[1],
          .width = layer.in_shape[2],
          .out_channels = layer.out_shape[0],
          .kernel_h = layer.kernel,
          .kernel_w = layer.kernel,
          .stride = layer.stride,
          .pad_h = layer.padding,
          .pad_w = layer.padding};
}

/// Input, output and weights once each.
Bytes matrix_bytes(const Layer& layer, const Setting& setting) {
  return setting.batch * (layer.in_elements + layer.out_elements) * setting.sizes.activation +
         parameter_elements(layer) * setting.sizes.compute_weight;
}

/// Autocast's copy of a layer's weights into the compute type, or of their gradients back.
Op cast_op(Phase phase, const Layer& layer, const Setting& setting) {
  const double weights = parameter_elements(layer);
  return make_op(phase, layer.name + ".cast", OpKind::elementwise, VectorShape{weights}, Flops(weights),
                 weights * (setting.sizes.compute_weight + setting.sizes.parameter));
}

OpKind vector_kind(LayerKind kind, Phase phase) {
  switch (kind) {
    case LayerKind::batch_norm:
      return phase == Phase::forward ? OpKind::batch_norm_forward : OpKind::batch_norm_backward;
    case LayerKind::max_pool:
    case LayerKind::average_pool:
      return OpKind::pooling;
    case LayerKind::softmax_cross_entropy:
      return OpKind::softmax;
    default:
      return OpKind::elementwise;
  }
}

Op vector_op(Phase phase, const Layer& layer, Flops flops, double rw_elements, const Setting& setting) {
  return make_op(phase, layer.name, vector_kind(layer.kind, phase),
                 VectorShape{setting.batch * layer.in_elements}, setting.batch * flops,
                 setting.batch * rw_elements * setting.sizes.activation);
}

bool is_matrix(const Layer& layer) {
  return layer.kind == LayerKind::conv || layer.kind == LayerKind::linear;
}

void append_forward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  if (!is_matrix(layer)) {
    ops.push_back(vector_op(Phase::forward, layer, layer.forward_flops, layer.forward_rw_elements, setting));
    return;
  }
  if (setting.sizes.casts) ops.push_back(cast_op(Phase::forward, layer, setting));
  const Flops flops = setting.batch * layer.forward_flops;
  const Bytes bytes = matrix_bytes(layer, setting);
  if (layer.kind == LayerKind::conv) {
    ops.push_back(make_op(Phase::forward, layer.name, OpKind::conv_forward, conv_shape(layer, setting.batch),
                          flops, bytes));
  } else {
    const GemmShape shape{1, setting.batch * layer.gemm.m, layer.gemm.n, layer.gemm.k, false, true};
    ops.push_back(make_op(Phase::forward, layer.name, OpKind::gemm, shape, flops, bytes));
  }
}

void append_matrix_backward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  const Flops flops = setting.batch * layer.forward_flops;  // of either gradient
  const Bytes bytes = matrix_bytes(layer, setting);
  const bool is_conv = layer.kind == LayerKind::conv;
  const int rows = setting.batch * layer.gemm.m;
  if (layer.has_input_gradient) {
    const Shape shape = is_conv ? Shape(conv_shape(layer, setting.batch))
                                : Shape(GemmShape{1, rows, layer.gemm.k, layer.gemm.n, false, false});
    ops.push_back(make_op(Phase::backward, layer.name, is_conv ? OpKind::conv_dgrad : OpKind::gemm, shape,
                          flops, bytes));
  }
  const Shape shape = is_conv ? Shape(conv_shape(layer, setting.batch))
                              : Shape(GemmShape{1, layer.gemm.n, layer.gemm.k, rows, true, false});
  ops.push_back(
      make_op(Phase::backward, layer.name, is_conv ? OpKind::conv_wgrad : OpKind::gemm, shape, flops, bytes));
  if (setting.sizes.casts) ops.push_back(cast_op(Phase::backward, layer, setting));
  ops.back().gradients = gradients_of(layer);
}

void append_backward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  if (is_matrix(layer)) {
    append_matrix_backward(ops, layer, setting);
  } else if (layer.backward_rw_elements > 0) {  // an addition passes its gradient on for nothing
    ops.push_back(
        vector_op(Phase::backward, layer, layer.backward_flops, layer.backward_rw_elements, setting));
    ops.back().gradients = gradients_of(layer);
  }
}

/// Multiplications and additions per parameter, of the textbook update.
double optimizer_flops(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 2;  // w -= lr g
    case Optimizer::momentum:
      return 4;  // m = mu m + g; w -= lr m
    case Optimizer::adam:
      return 12;  // two moments (3 + 4), root, quotient and update (5)
  }
  return 0;
}

}  // namespace

ElementSizes element_sizes(Precision precision) {
  constexpr Bytes half{2};
  constexpr Bytes single{4};
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return {single, single, single, single, false, false};
    case Precision::fp16:
    case Precision::bf16:
      return {half, half, single, half, false, true};
    case Precision::amp:
    case Precision::amp_bf16:
      return {half, half, single, single, true, false};
  }
  return {};
}

Bytes optimizer_bytes_per_parameter(Optimizer optimizer, Precision precision) {
  const ElementSizes sizes = element_sizes(precision);
  const int states = optimizer == Optimizer::sgd ? 0 : optimizer == Optimizer::momentum ? 1 : 2;
  const Bytes read_and_written = 2.0 * (1 + states) * sizes.parameter;
  return read_and_written + sizes.gradient + (sizes.writes_copy ? sizes.compute_weight : Bytes());
}

Trace make_trace(const Model& model, int batch_per_gpu, Precision precision, Optimizer optimizer) {
  if (batch_per_gpu < 1) {
    throw InputError("batch_per_gpu is " + std::to_string(batch_per_gpu), "a rank needs at least one sample");
  }
  const Setting setting{batch_per_gpu, element_sizes(precision)};
  Trace trace{model.name, batch_per_gpu, precision, {}};
  trace.ops.reserve(4 * model.layers.size());
  for (const Layer& layer : model.layers) append_forward(trace.ops, layer, setting);
  for (const Layer& layer : model.layers | std::views::reverse) append_backward(trace.ops, layer, setting);

  const double parameters = totals(model.layers).parameters;
  trace.ops.push_back(make_op(Phase::optimizer, "optimizer", OpKind::optimizer, VectorShape{parameters},
                              Flops(parameters * optimizer_flops(optimizer)),
                              parameters * optimizer_bytes_per_parameter(optimizer, precision)));
  return trace;
}

}  // namespace trainyard
