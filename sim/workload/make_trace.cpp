#include "workload/make_trace.hpp"

#include "config/diagnostic.hpp"
#include "workload/eight_bits.hpp"
#include "workload/layer_ops.hpp"

#include <cassert>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <utility>

namespace trainyard {
namespace {

struct Setting {
  int batch = 0;
  ElementSizes sizes;
  NarrowValues narrow = {};  ///< of products of 8-bit or 4-bit operands
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

std::vector<Gradient> gradients_of(const Layer& layer, const Setting& setting) {
  return trainyard::gradients_of(layer, setting.batch);
}

/// The convolution of a layer; of a transposed one, the convolution from its output to its input.
ConvShape conv_shape(const Layer& layer, int batch) {
  const bool is_transposed = layer.kind == LayerKind::conv_transpose;
  const std::vector<int>& in = is_transposed ? layer.out_shape : layer.in_shape;
  const std::vector<int>& out = is_transposed ? layer.in_shape : layer.out_shape;
  assert(in.size() == 3);
  return {.batch = batch * layer.samples,
          .in_channels = in[0],
          .height = in[1],
          .width = in[2],
          .out_channels = out[0],
          .kernel_h = layer.window.kernel_h,
          .kernel_w = layer.window.kernel_w,
          .stride = layer.window.stride,
          .pad_h = layer.window.pad_h,
          .pad_w = layer.window.pad_w,
          .groups = layer.groups};
}

/// `size` times the batch, for the rows or the count of a matrix product.
int times_batch(int size, const Layer& layer, const Setting& setting) {
  const std::int64_t product = static_cast<std::int64_t>(size) * setting.batch;
  if (product > std::numeric_limits<int>::max()) {
    throw InputError("batch_per_gpu is " + std::to_string(setting.batch) + ": layer '" + layer.name +
                         "' has more than 2^31 rows",
                     "use a smaller batch");
  }
  return static_cast<int>(product);
}

/// The forward product of a layer for the whole batch: more rows for a layer with weights, more products for
/// one per head.
GemmShape gemm_shape(const Layer& layer, const Setting& setting) {
  const LayerGemm& gemm = layer.gemm;
  GemmShape shape{gemm.batch, gemm.m, gemm.n, gemm.k, false, gemm.transpose_b};
  int& grows = layer.kind == LayerKind::linear || layer.kind == LayerKind::local ? shape.m : shape.batch;
  grows = times_batch(grows, layer, setting);
  return shape;
}

/// dA[m x k] = dC[m x n] B^T.
GemmShape first_gradient(const GemmShape& forward) {
  return {forward.batch, forward.m, forward.k, forward.n, false, !forward.transpose_b};
}

/// dB = A^T dC in the storage of B: [k x n], or dC^T A for [n x k].
GemmShape second_gradient(const GemmShape& forward) {
  if (forward.transpose_b) return {forward.batch, forward.n, forward.k, forward.m, true, false};
  return {forward.batch, forward.k, forward.n, forward.m, true, false};
}

/// Weights read by a layer's ops, its own and those of another layer.
double matrix_weights(const Layer& layer) {
  return layer.drawn * parameter_elements(layer) + layer.tied_elements;
}

/// Operands and result once each: values of samples times the batch, weights once.
Bytes matrix_bytes(const Layer& layer, const Setting& setting) {
  return setting.batch * (layer.forward_rw_elements - layer.weight_rw_elements) * setting.sizes.activation +
         matrix_weights(layer) * setting.sizes.compute_weight;
}

/// Values of the samples that a matrix op of a layer reads and writes.
struct Ends {
  double in = 0, out = 0;
};

Ends ends_of(const Layer& layer, const Setting& setting) {
  const double values = setting.batch * (layer.forward_rw_elements - layer.weight_rw_elements);
  const double in = values * layer.in_elements / (layer.in_elements + layer.out_elements);
  return {in, values - in};
}

/// Bytes of a layer in 8 or 4 bits: `wide` values of the result, all others narrow.
Bytes bytes_in_8_bits(const Layer& layer, double wide, const Setting& setting) {
  const auto [in, out] = ends_of(layer, setting);
  return (in + out + matrix_weights(layer) - wide) * setting.narrow.each + wide * setting.sizes.activation;
}

/// Reads values in 16 bits and writes both of their copies in 8 or 4.
Op cast_to_8_bits(Phase phase, std::string name, double values, double reads, const Setting& setting) {
  return make_op(phase, std::move(name), OpKind::elementwise, VectorShape{values}, Flops(values),
                 values * (reads * setting.sizes.activation + 2 * setting.narrow.each));
}

/// Autocast's copy of a layer's weights in the compute type, or of their gradients back.
Op cast_op(Phase phase, const Layer& layer, const Setting& setting) {
  const double weights = matrix_weights(layer);
  return make_op(phase, layer.name + ".cast", OpKind::elementwise, VectorShape{weights}, Flops(weights),
                 weights * (setting.sizes.compute_weight + setting.sizes.parameter));
}

/// Scales the rows of a layer's weights to length 1; in backward the gradient of this. Once per step whatever
/// the batch: like casts, it is not in the layer's counts, which are per sample.
Op normalise_op(Phase phase, const Layer& layer, const Setting& setting) {
  constexpr int forward_flops = 3;    // square, sum, product
  constexpr int backward_flops = 5;   // projection of the gradient, difference, product
  constexpr int backward_passes = 3;  // gradient and scaled weights are read, the gradient is written
  const double weights = matrix_weights(layer);
  if (phase == Phase::forward)
    return make_op(phase, layer.name + ".normalise", OpKind::elementwise, VectorShape{weights},
                   Flops(forward_flops * weights), 2 * weights * setting.sizes.compute_weight);
  return make_op(phase, layer.name + ".normalise", OpKind::elementwise, VectorShape{weights},
                 Flops(backward_flops * weights), backward_passes * weights * setting.sizes.compute_weight);
}

Bytes vector_bytes(const Layer& layer, double rw_elements, const Setting& setting) {
  if (layer.kind == LayerKind::dropout) {  // the mask has one byte per value in any precision
    return setting.batch * (2 * layer.in_elements * setting.sizes.activation + layer.saved_fixed);
  }
  return setting.batch * (rw_elements - layer.weight_rw_elements) * setting.sizes.activation +
         layer.weight_rw_elements * setting.sizes.compute_weight;
}

Op vector_op(Phase phase, const Layer& layer, Flops flops, Bytes bytes, const Setting& setting) {
  const double values = layer.kind == LayerKind::embedding ? layer.out_elements : layer.in_elements;
  const OpKind kind = phase == Phase::forward ? traits(layer.kind).forward : traits(layer.kind).backward;
  const int row = kind == OpKind::softmax ? layer.in_shape.back() : 0;
  return make_op(phase, layer.name, kind, VectorShape{setting.batch * values, row}, setting.batch * flops,
                 bytes);
}

/// The gradient of a table: one row per token is added to it, and the whole table is written once; of a
/// sparse gradient only these rows.
Bytes table_gradient_bytes(const Layer& layer, const Setting& setting) {
  return setting.batch * layer.out_elements * setting.sizes.activation +
         (gradient_elements(layer, setting.batch) + layer.tied_elements) * setting.sizes.gradient;
}

bool is_matrix(const Layer& layer) { return is_matrix(traits(layer.kind).forward); }

bool casts_weights(const Layer& layer, const Setting& setting) {
  return setting.sizes.casts && matrix_weights(layer) > 0;
}

/// The product of one step of a recurrence, for one token of every sample.
GemmShape step_shape(const Layer& layer, const Setting& setting) {
  GemmShape shape{1, layer.gemm.m, layer.gemm.n, layer.gemm.k, false, layer.gemm.transpose_b};
  shape.m = times_batch(shape.m, layer, setting);
  return shape;
}

/// Both ops of a step of a recurrence, in the order of forward.
struct StepOps {
  Op product, cell;
};

StepOps step_ops(Phase phase, const Layer& layer, const GemmShape& shape, const Setting& setting) {
  const double samples = setting.batch;
  const bool is_forward = phase == Phase::forward;
  const double weights = parameter_elements(layer);
  const double product_values = layer.gemm.n + layer.gemm.k;
  const double all_values = (is_forward ? layer.forward_rw_elements - layer.weight_rw_elements
                                        : layer.backward_rw_elements - 2 * layer.weight_rw_elements) /
                            layer.steps;
  const double cell_values = all_values - (is_forward ? 1 : 2) * product_values;
  const Flops product_flops(2 * layer.forward_macs / layer.steps);
  const Flops cell_flops = layer.forward_flops / layer.steps - product_flops;
  return {
      make_op(phase, layer.name, OpKind::gemm, shape, samples * product_flops,
              samples * product_values * setting.sizes.activation + weights * setting.sizes.compute_weight),
      make_op(phase, layer.name, OpKind::elementwise, VectorShape{samples * layer.gemm.n},
              samples * cell_flops, samples * cell_values * setting.sizes.activation)};
}

void append_recurrence_forward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  if (casts_weights(layer, setting)) ops.push_back(cast_op(Phase::forward, layer, setting));
  const StepOps step = step_ops(Phase::forward, layer, step_shape(layer, setting), setting);
  for (int i = 0; i < layer.steps; ++i) {
    ops.push_back(step.product);
    ops.push_back(step.cell);
  }
}

/// The steps in the opposite order, then the gradient of the weights of all of them.
void append_recurrence_backward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  const GemmShape forward = step_shape(layer, setting);
  const StepOps step = step_ops(Phase::backward, layer, first_gradient(forward), setting);
  for (int i = 0; i < layer.steps; ++i) {
    ops.push_back(step.cell);
    ops.push_back(step.product);
  }
  GemmShape of_weights = second_gradient(forward);
  of_weights.k = times_batch(layer.gemm.m * layer.steps, layer, setting);
  const double values = setting.batch * static_cast<double>(layer.steps) * (layer.gemm.n + layer.gemm.k);
  ops.push_back(make_op(
      Phase::backward, layer.name, OpKind::gemm, of_weights, setting.batch * Flops(2 * layer.forward_macs),
      values * setting.sizes.activation + parameter_elements(layer) * setting.sizes.compute_weight));
  if (casts_weights(layer, setting)) ops.push_back(cast_op(Phase::backward, layer, setting));
  ops.back().gradients = gradients_of(layer, setting);
}

void append_forward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  if (layer.kind == LayerKind::recurrence) {
    append_recurrence_forward(ops, layer, setting);
    return;
  }
  if (!is_matrix(layer)) {
    ops.push_back(vector_op(Phase::forward, layer, layer.forward_flops,
                            vector_bytes(layer, layer.forward_rw_elements, setting), setting));
    return;
  }
  if (casts_weights(layer, setting)) ops.push_back(cast_op(Phase::forward, layer, setting));
  if (layer.normalises_weights) ops.push_back(normalise_op(Phase::forward, layer, setting));
  const OpKind kind = traits(layer.kind).forward;
  const Shape shape =
      is_convolution(layer) ? Shape(conv_shape(layer, setting.batch)) : Shape(gemm_shape(layer, setting));
  ops.push_back(make_op(Phase::forward, layer.name, kind, shape, setting.batch * layer.forward_flops,
                        matrix_bytes(layer, setting)));
}

/// A layer in 8 bits after one of kind `before`: a cast of its input, unless that wrote it in 8 bits.
void append_forward_in_8_bits(std::vector<Op>& ops, const Layer& layer, std::optional<LayerKind> before,
                              const Setting& setting) {
  const Ends ends = ends_of(layer, setting);
  const NarrowValues& narrow = setting.narrow;
  if (!before || !casts_output(*before) || narrow.is_always_cast)
    ops.push_back(cast_to_8_bits(Phase::forward, layer.name + ".cast", ends.in, narrow.reads, setting));
  ops.push_back(make_op(Phase::forward, layer.name, OpKind::gemm, gemm_shape(layer, setting),
                        setting.batch * layer.forward_flops, bytes_in_8_bits(layer, ends.out, setting)));
  ops.back().in_8_bits = true;
}

/// The cast of the gradient of its output and both products.
void append_backward_in_8_bits(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  const Ends ends = ends_of(layer, setting);
  ops.push_back(
      cast_to_8_bits(Phase::backward, layer.name + ".cast", ends.out, setting.narrow.reads, setting));
  const auto append = [&](const GemmShape& shape, double result) {
    ops.push_back(make_op(Phase::backward, layer.name, OpKind::gemm, shape,
                          setting.batch * layer.forward_flops, bytes_in_8_bits(layer, result, setting)));
    ops.back().in_8_bits = true;
  };
  const GemmShape forward = gemm_shape(layer, setting);
  if (layer.has_input_gradient) append(first_gradient(forward), ends.in);
  append(second_gradient(forward), matrix_weights(layer));
  ops.back().gradients = gradients_of(layer, setting);
}

void append_matrix_backward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  const Flops flops = setting.batch * layer.forward_flops;  // of each of the two gradients
  const Bytes bytes = matrix_bytes(layer, setting);
  const auto append = [&](OpKind kind, Shape shape) {
    ops.push_back(make_op(Phase::backward, layer.name, kind, shape, flops, bytes));
  };
  if (is_convolution(layer)) {
    const ConvShape shape = conv_shape(layer, setting.batch);
    const bool is_transposed = layer.kind == LayerKind::conv_transpose;
    if (layer.has_input_gradient) append(is_transposed ? OpKind::conv_forward : OpKind::conv_dgrad, shape);
    append(OpKind::conv_wgrad, shape);
  } else {
    const GemmShape forward = gemm_shape(layer, setting);
    if (layer.has_input_gradient) append(OpKind::gemm, first_gradient(forward));
    append(OpKind::gemm, second_gradient(forward));
  }
  if (layer.normalises_weights) ops.push_back(normalise_op(Phase::backward, layer, setting));
  if (casts_weights(layer, setting)) ops.push_back(cast_op(Phase::backward, layer, setting));
  ops.back().gradients = gradients_of(layer, setting);
}

/// Whether a layer has any gradient to compute: of its input, or of weights.
bool has_backward(const Layer& layer) {
  return layer.has_input_gradient || !layer.parameters.empty() || layer.tied_elements > 0;
}

void append_backward(std::vector<Op>& ops, const Layer& layer, const Setting& setting) {
  if (!has_backward(layer)) return;
  if (layer.kind == LayerKind::recurrence) {
    append_recurrence_backward(ops, layer, setting);
  } else if (layer.kind == LayerKind::flash_attention) {
    ops.push_back(make_op(Phase::backward, layer.name, OpKind::attention, gemm_shape(layer, setting),
                          setting.batch * layer.backward_flops,
                          setting.batch * layer.backward_rw_elements * setting.sizes.activation));
    ops.back().gradients = gradients_of(layer, setting);
  } else if (is_matrix(layer)) {
    append_matrix_backward(ops, layer, setting);
  } else if (layer.backward_rw_elements > 0) {  // an addition passes its gradient on at no cost
    const Bytes bytes = layer.kind == LayerKind::embedding
                            ? table_gradient_bytes(layer, setting)
                            : vector_bytes(layer, layer.backward_rw_elements, setting);
    ops.push_back(vector_op(Phase::backward, layer, layer.backward_flops, bytes, setting));
    ops.back().gradients = gradients_of(layer, setting);
  }
}

/// An optimizer's work per parameter: multiplications and additions in the textbook update, and the values of
/// each type that it moves.
struct OptimizerWork {
  double flops = 0;
  int parameters = 0, gradients = 0;
};

OptimizerWork work_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return {2, 2, 1};  // w -= lr g
    case Optimizer::momentum:
      return {4, 4, 1};  // m = mu m + g; w -= lr m
    case Optimizer::lars:
      return {10, 5, 2};  // momentum's, weight decay (2) and the norms of weight and gradient (4)
    case Optimizer::adam:
      return {12, 6, 1};  // two moments (3 + 4), root, quotient and update (5)
    case Optimizer::lamb:
      return {18, 11, 2};  // Adam's, weight decay (2) and the norms of weight and update (4)
  }
  return {};
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
    case Precision::fp8:
    case Precision::mxfp8:
    case Precision::nvfp4:
      return {half, half, single, half, false, true};
    case Precision::amp:
    case Precision::amp_bf16:
      return {half, half, single, single, true, false};
    case Precision::pure_bf16:
      return {half, half, half, half, false, false};
  }
  return {};
}

Bytes optimizer_bytes_per_parameter(Optimizer optimizer, Precision precision) {
  const ElementSizes sizes = element_sizes(precision);
  const OptimizerWork work = work_of(optimizer);
  const Bytes copy = sizes.writes_copy ? sizes.compute_weight : Bytes();
  return work.parameters * sizes.parameter + work.gradients * sizes.gradient + copy;
}

Trace make_trace(const Model& model, int batch_per_gpu, Precision precision, Optimizer optimizer) {
  if (batch_per_gpu < 1) {
    throw InputError("batch_per_gpu is " + std::to_string(batch_per_gpu), "write 1 or more");
  }
  const Setting setting{batch_per_gpu, element_sizes(precision), narrow_values(precision)};
  Trace trace{.model = model.name,
              .batch_per_gpu = batch_per_gpu,
              .precision = precision,
              .sequence_length = model.sequence_length,
              .samples_per_epoch = samples_per_epoch(model),
              .ops = {}};
  trace.ops.reserve(4 * model.layers.size());
  const int count = static_cast<int>(model.layers.size());
  const auto append = [&](int number, auto append_pass) {
    const std::size_t first = trace.ops.size();
    append_pass(trace.ops, model.layers[static_cast<std::size_t>(number)], setting);
    for (std::size_t op = first; op < trace.ops.size(); ++op) trace.ops[op].of_layer = number;
  };
  const auto is_in_8_bits = [&](const Layer& layer) { return is_narrow(precision) && runs_in_8_bits(layer); };
  std::optional<LayerKind> before;
  for (int i = 0; i < count; ++i) {
    append(i, [&](std::vector<Op>& ops, const Layer& layer, const Setting&) {
      if (is_in_8_bits(layer))
        append_forward_in_8_bits(ops, layer, before, setting);
      else
        append_forward(ops, layer, setting);
      before = layer.kind;
    });
  }
  for (int i = count - 1; i >= 0; --i) {
    append(i, [&](std::vector<Op>& ops, const Layer& layer, const Setting&) {
      if (is_in_8_bits(layer))
        append_backward_in_8_bits(ops, layer, setting);
      else
        append_backward(ops, layer, setting);
    });
  }

  double parameters = 0;
  for (const Layer& layer : model.layers) parameters += gradient_elements(layer, batch_per_gpu);
  trace.ops.push_back(make_op(Phase::optimizer, "optimizer", OpKind::optimizer, VectorShape{parameters},
                              Flops(parameters * work_of(optimizer).flops),
                              parameters * optimizer_bytes_per_parameter(optimizer, precision)));
  if (const double weights = is_narrow(precision) ? weights_in_8_bits(model.layers) : 0; weights > 0)
    trace.ops.push_back(
        cast_to_8_bits(Phase::optimizer, "weights.cast", weights, setting.narrow.of_weights, setting));
  return trace;
}

bool is_cast(const Op& op, const Layer& layer) { return is_matrix(layer) && !is_matrix(op.kind); }

Op matrix_op(LayerPass pass, const Layer& layer, int batch, const ElementSizes& sizes,
             const NarrowValues& narrow) {
  const Setting setting{batch, sizes, narrow};
  const bool is_forward = pass == LayerPass::output;
  const Phase phase = is_forward ? Phase::forward : Phase::backward;
  const auto op = [&](OpKind kind, Shape shape) {
    return make_op(phase, layer.name, kind, shape, batch * layer.forward_flops, matrix_bytes(layer, setting));
  };
  if (layer.kind == LayerKind::flash_attention && !is_forward)
    return make_op(phase, layer.name, OpKind::attention, gemm_shape(layer, setting),
                   batch * layer.backward_flops, batch * layer.backward_rw_elements * sizes.activation);
  if (is_convolution(layer)) {
    const ConvShape shape = conv_shape(layer, batch);
    if (is_forward) return op(traits(layer.kind).forward, shape);
    if (pass == LayerPass::weight_gradient) return op(OpKind::conv_wgrad, shape);
    return op(layer.kind == LayerKind::conv_transpose ? OpKind::conv_forward : OpKind::conv_dgrad, shape);
  }
  const GemmShape forward = gemm_shape(layer, setting);
  const bool is_of_input = pass == LayerPass::input_gradient;
  Op product = is_forward
                   ? op(traits(layer.kind).forward, forward)
                   : op(OpKind::gemm, is_of_input ? first_gradient(forward) : second_gradient(forward));
  if (narrow.each <= Bytes()) return product;
  const Ends ends = ends_of(layer, setting);
  const double result = is_forward ? ends.out : is_of_input ? ends.in : matrix_weights(layer);
  product.bytes = bytes_in_8_bits(layer, result, setting);
  product.in_8_bits = true;
  return product;
}

std::vector<Op> layer_ops(Phase phase, const Layer& layer, int batch, Precision precision) {
  const Setting setting{batch, element_sizes(precision), {}};
  std::vector<Op> ops;
  phase == Phase::forward ? append_forward(ops, layer, setting) : append_backward(ops, layer, setting);
  return ops;
}

std::vector<Gradient> gradients_of(const Layer& layer, int batch) {
  std::vector<Gradient> gradients;
  for (const Parameter& parameter : layer.parameters | std::views::reverse)
    gradients.push_back({parameter.name, gradient_elements(layer, parameter, batch), layer.summed_over});
  return gradients;
}

}  // namespace trainyard
