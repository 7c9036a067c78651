#include "workload/layer.hpp"

#include "config/diagnostic.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

constexpr Bytes index_size{8};  // PyTorch keeps int64 positions

double elements(const std::vector<int>& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
}

/// Windows of a pooling that rounds up: the last one begins inside the input or its first padding, and may
/// end beyond it. Source: PyTorch, aten/src/ATen/native/Pool.h, pooling_output_shape_pad_lr.
int rounded_up(int room, int size, int stride, int padding) {
  const int count = (room + stride - 1) / stride + 1;
  return (count - 1) * stride >= size + padding ? count - 1 : count;
}

int window_count(const std::string& layer, int size, int kernel, const Window& window, int padding) {
  const int stride = window.stride;
  const int room = size + 2 * padding - kernel;
  if (room < 0) {
    throw InputError("layer '" + layer + "': a " + std::to_string(kernel) +
                         "-wide window does not fit into " + plural(size, "value"),
                     "use a larger image_size");
  }
  return window.round_up ? rounded_up(room, size, stride, padding) : room / stride + 1;
}

FeatureMap windows(const std::string& layer, FeatureMap in, int out_channels, Window w) {
  return {out_channels, window_count(layer, in.height, w.kernel_h, w, w.pad_h),
          window_count(layer, in.width, w.kernel_w, w, w.pad_w)};
}

Window square(int kernel, int stride, int padding) { return {kernel, kernel, stride, padding, padding}; }

Layer map_layer(std::string name, LayerKind kind, FeatureMap in, FeatureMap out) {
  return shaped_layer(std::move(name), kind, dimensions(in), dimensions(out));
}

/// The weights of a convolution and a bias per output channel.
void add_weights(Layer& layer, double weights, bool has_bias) {
  layer.parameters = {{layer.name + ".weight", weights}};
  if (has_bias) layer.parameters.push_back({layer.name + ".bias", static_cast<double>(layer.out_shape[0])});
}

/// Sets traffic and kept values of a layer with these weights, MACs and product: input, output and weights
/// once in forward, twice in backward; the input is kept.
void add_matrix_costs(Layer& layer, double macs, LayerGemm gemm) {
  set_macs(layer, macs);
  layer.saved_elements = layer.in_elements;
  layer.weight_rw_elements = parameter_elements(layer);
  layer.forward_rw_elements = layer.in_elements + layer.out_elements + layer.weight_rw_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.gemm = gemm;
}

}  // namespace

bool do_the_same(const Layer& a, const Layer& b) {
  // All members, so that a new one has to be looked at here as well.
  const auto compared = [](const Layer& layer) {
    const auto& [name, kind, in_shape, out_shape, window, groups, has_input_gradient, parameters,
                 forward_macs, forward_flops, backward_flops, samples, in_elements, out_elements,
                 saved_elements, saved_fixed, forward_rw_elements, backward_rw_elements, weight_rw_elements,
                 tied_elements, tied_to, tied_bias, adds_rows, of_positions, stays_in_16_bits,
                 sparse_elements, repeated_rows, steps, reads_encoder, gemm, keeps_wide_input, projections,
                 drops_probabilities, masks_keys, has_biased_scores, joins, predicts_next_token, input_sums,
                 summed_elements, slice_gradients, per_channel, split, limited, summed_over, drawn,
                 normalises_weights, experts, load, continues_previous, block] = layer;
    return std::tie(kind, in_shape, out_shape, window, groups, has_input_gradient, forward_macs,
                    forward_flops, backward_flops, samples, in_elements, out_elements, saved_elements,
                    saved_fixed, forward_rw_elements, backward_rw_elements, weight_rw_elements, tied_elements,
                    tied_to, tied_bias, adds_rows, of_positions, stays_in_16_bits, sparse_elements,
                    repeated_rows, steps, reads_encoder, gemm, keeps_wide_input, projections,
                    drops_probabilities, masks_keys, has_biased_scores, joins, predicts_next_token,
                    input_sums, summed_elements, slice_gradients, per_channel, split, limited, summed_over,
                    drawn, normalises_weights, experts, load, continues_previous);
  };
  return compared(a) == compared(b) &&
         std::ranges::equal(a.parameters, b.parameters, {}, &Parameter::elements, &Parameter::elements);
}

double parameter_elements(const Layer& layer) {
  double sum = 0;
  for (const Parameter& parameter : layer.parameters) sum += parameter.elements;
  return sum;
}

std::map<std::optional<Axis>, double> parameters_by_axis(const std::vector<Layer>& layers) {
  std::map<std::optional<Axis>, double> sums;
  for (const Layer& layer : layers) {
    const double elements = parameter_elements(layer);
    if (elements > 0) sums[layer.summed_over] += elements;
  }
  return sums;
}

double gradient_elements(const Layer& layer, const Parameter& parameter, double samples) {
  if (layer.sparse_elements == 0) return parameter.elements;
  return std::min(samples * layer.sparse_elements, parameter.elements);
}

double gradient_elements(const Layer& layer, double samples) {
  double sum = 0;
  for (const Parameter& parameter : layer.parameters) sum += gradient_elements(layer, parameter, samples);
  return sum;
}

std::map<std::optional<Axis>, double> gradients_by_axis(const std::vector<Layer>& layers, double samples) {
  std::map<std::optional<Axis>, double> sums;
  for (const Layer& layer : layers) {
    const double elements = gradient_elements(layer, samples);
    if (elements > 0) sums[layer.summed_over] += elements;
  }
  return sums;
}

std::vector<int> dimensions(FeatureMap map) { return {map.channels, map.height, map.width}; }

Layer shaped_layer(std::string name, LayerKind kind, std::vector<int> in, std::vector<int> out) {
  Layer layer;
  layer.name = std::move(name);
  layer.kind = kind;
  layer.in_elements = elements(in);
  layer.out_elements = elements(out);
  layer.in_shape = std::move(in);
  layer.out_shape = std::move(out);
  return layer;
}

void set_block(std::vector<Layer>& layers, std::size_t first, int block) {
  for (std::size_t i = first; i < layers.size(); ++i) layers[i].block = block;
}

Layer vector_layer(std::string name, LayerKind kind, const std::vector<int>& shape, VectorCosts costs) {
  Layer layer = shaped_layer(std::move(name), kind, shape, shape);
  layer.forward_flops = Flops(costs.forward_flops * layer.in_elements);
  layer.backward_flops = Flops(costs.backward_flops * layer.in_elements);
  layer.forward_rw_elements = costs.forward_passes * layer.in_elements;
  layer.backward_rw_elements = costs.backward_passes * layer.in_elements;
  layer.saved_elements = costs.keeps_input ? layer.in_elements : 0;
  return layer;
}

void set_reads_data(Layer& layer) {
  layer.has_input_gradient = false;
  layer.backward_flops = layer.forward_flops;
}

void set_shares_input(Layer& layer) {
  ++layer.input_sums;
  layer.summed_elements += layer.in_elements;
}

void set_macs(Layer& layer, double macs) {
  layer.forward_macs = macs;
  layer.forward_flops = Flops(2 * macs);
  layer.backward_flops = 2 * layer.forward_flops;
}

FeatureMap output_map(const Layer& layer) {
  assert(layer.out_shape.size() == 3);
  return {layer.out_shape[0], layer.out_shape[1], layer.out_shape[2]};
}

Layer conv_layer(std::string name, FeatureMap in, ConvWindow window) {
  return conv_layer(std::move(name), in, window.out_channels,
                    square(window.kernel, window.stride, window.padding), window.has_bias);
}

Layer conv_layer(std::string name, FeatureMap in, int out_channels, Window window, bool has_bias) {
  return grouped_conv_layer(std::move(name), in, out_channels, window, 1, has_bias);
}

Layer grouped_conv_layer(std::string name, FeatureMap in, int out_channels, Window window, int groups,
                         bool has_bias) {
  const FeatureMap out = windows(name, in, out_channels, window);
  Layer layer = map_layer(std::move(name), LayerKind::conv, in, out);
  layer.window = window;
  layer.groups = groups;
  const int inputs = in.channels / groups * window.kernel_h * window.kernel_w;  // per value
  const double weights = static_cast<double>(out_channels) * inputs;
  add_weights(layer, weights, has_bias);
  add_matrix_costs(layer, weights * out.height * out.width,
                   {groups, out.height * out.width, out.channels / groups, inputs});
  return layer;
}

Layer local_layer(std::string name, FeatureMap in, int out_channels, Window window, bool has_bias) {
  const FeatureMap out = windows(name, in, out_channels, window);
  Layer layer = map_layer(std::move(name), LayerKind::local, in, out);
  layer.window = window;
  const int inputs = in.channels * window.kernel_h * window.kernel_w;  // per value
  const double macs = layer.out_elements * inputs;
  layer.parameters = {{layer.name + ".weight", macs}};
  if (has_bias) layer.parameters.push_back({layer.name + ".bias", layer.out_elements});
  add_matrix_costs(layer, macs, {out.height * out.width, 1, out.channels, inputs});
  return layer;
}

Layer conv_transpose_layer(std::string name, FeatureMap in, int out_channels, Window window, bool has_bias) {
  const auto size = [&](int values, int kernel, int padding) {  // parts of it may be beyond 2^31
    return static_cast<int>((values - 1LL) * window.stride - 2LL * padding + kernel);
  };
  const FeatureMap out{out_channels, size(in.height, window.kernel_h, window.pad_h),
                       size(in.width, window.kernel_w, window.pad_w)};
  Layer layer = map_layer(std::move(name), LayerKind::conv_transpose, in, out);
  layer.window = window;
  const int outputs = out_channels * window.kernel_h * window.kernel_w;  // per value
  const double weights = static_cast<double>(in.channels) * outputs;
  add_weights(layer, weights, has_bias);
  add_matrix_costs(layer, weights * in.height * in.width, {1, in.height * in.width, outputs, in.channels});
  return layer;
}

Layer batch_norm_layer(std::string name, FeatureMap in, bool has_scale) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::batch_norm, dimensions(in),
                   {.forward_flops = 4, .backward_flops = 8, .forward_passes = 3, .backward_passes = 5});
  if (has_scale) layer.parameters.push_back({layer.name + ".weight", static_cast<double>(in.channels)});
  layer.parameters.push_back({layer.name + ".bias", static_cast<double>(in.channels)});
  return layer;
}

Layer local_response_norm_layer(std::string name, FeatureMap in) {
  return vector_layer(std::move(name), LayerKind::local_response_norm, dimensions(in),
                      {.forward_flops = 10, .backward_flops = 20, .backward_passes = 4});
}

Layer relu_layer(std::string name, std::vector<int> shape) {
  return vector_layer(std::move(name), LayerKind::relu, shape,
                      {.forward_flops = 1, .backward_flops = 1, .keeps_input = false});
}

Layer prelu_layer(std::string name, const std::vector<int>& shape) {
  Layer layer = vector_layer(std::move(name), LayerKind::prelu, shape,
                             {.forward_flops = 1, .backward_flops = 2, .backward_passes = 4});
  const int channels = shape.size() == 3 ? shape.front() : shape.back();
  layer.parameters = {{layer.name + ".weight", static_cast<double>(channels)}};
  return layer;
}

Layer swish_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::swish, shape, {.forward_flops = 4, .backward_flops = 7});
}

Layer sigmoid_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::sigmoid, shape,
                      {.forward_flops = 3, .backward_flops = 3, .keeps_input = false});
}

Layer tanh_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::tanh, shape,
                      {.forward_flops = 5, .backward_flops = 3, .keeps_input = false});
}

Layer max_pool_layer(std::string name, FeatureMap in, int kernel, int stride, int padding) {
  return max_pool_layer(std::move(name), in, square(kernel, stride, padding));
}

Layer max_pool_layer(std::string name, FeatureMap in, Window window) {
  Layer layer = average_pool_layer(std::move(name), in, window);
  layer.kind = LayerKind::max_pool;
  layer.saved_elements = layer.in_elements;
  layer.saved_fixed = layer.out_elements * index_size;
  return layer;
}

Layer add_layer(std::string name, std::vector<int> shape) {
  return vector_layer(std::move(name), LayerKind::add, shape,
                      {.forward_flops = 1, .forward_passes = 3, .backward_passes = 0, .keeps_input = false});
}

Layer multiply_layer(std::string name, const std::vector<int>& shape) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::multiply, shape,
                   {.forward_flops = 1, .backward_flops = 2, .forward_passes = 3, .backward_passes = 5});
  layer.saved_elements = 2 * layer.out_elements;
  return layer;
}

Layer concat_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::concat, shape,
                      {.backward_passes = 0, .keeps_input = false});
}

Layer average_pool_layer(std::string name, FeatureMap in) {
  Layer layer = average_pool_layer(std::move(name), in, {in.height, in.width});
  layer.window = no_window;
  layer.saved_elements = 0;
  return layer;
}

Layer average_pool_layer(std::string name, FeatureMap in, Window window) {
  const FeatureMap out = windows(name, in, in.channels, window);
  Layer layer = map_layer(std::move(name), LayerKind::average_pool, in, out);
  layer.window = window;
  layer.forward_flops = Flops(layer.out_elements * window.kernel_h * window.kernel_w);
  layer.backward_flops = layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = layer.in_elements + 2 * layer.out_elements;
  return layer;
}

Layer linear_layer(std::string name, LinearSize size, bool has_bias) {
  Layer layer = shaped_layer(std::move(name), LayerKind::linear, {size.rows, size.in}, {size.rows, size.out});
  const double weights = static_cast<double>(size.in) * size.out;
  layer.parameters = {{layer.name + ".weight", weights}};
  if (has_bias) layer.parameters.push_back({layer.name + ".bias", static_cast<double>(size.out)});
  add_matrix_costs(layer, size.rows * weights, {1, size.rows, size.out, size.in, true});
  return layer;
}

Layer linear_layer(std::string name, int in_features, int out_features) {
  return linear_layer(std::move(name), {1, in_features, out_features});
}

int flattened(const std::string& name, FeatureMap map) {
  const double values = static_cast<double>(map.channels) * map.height * map.width;
  if (values > std::numeric_limits<int>::max()) {
    throw InputError("layer '" + name + "' has more than 2^31 inputs", "use a smaller image_size");
  }
  return static_cast<int>(values);
}

Layer softmax_cross_entropy_layer(std::string name, int classes) {
  Layer layer = shaped_layer(std::move(name), LayerKind::softmax_cross_entropy, {classes}, {1});
  layer.forward_flops = Flops(5.0 * classes);
  layer.backward_flops = Flops(2.0 * classes);
  layer.saved_elements = classes;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = layer.in_elements + 2 * layer.out_elements;
  return layer;
}

Layer margin_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::margin, shape,
                      {.forward_flops = 1, .backward_flops = 1, .backward_passes = 2, .keeps_input = false});
}

Layer sigmoid_cross_entropy_layer(std::string name, int outputs) {
  Layer layer = vector_layer(std::move(name), LayerKind::sigmoid_cross_entropy, {outputs},
                             {.forward_flops = 6, .backward_flops = 2});
  layer.out_shape = {1};
  layer.out_elements = 1;
  return layer;
}

}  // namespace trainyard
