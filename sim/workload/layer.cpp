#include "workload/layer.hpp"

#include "config/diagnostic.hpp"

#include <cassert>
#include <utility>

namespace trainyard {
namespace {

constexpr Bytes index_size{8};  // PyTorch keeps int64 positions

double elements(FeatureMap map) { return static_cast<double>(map.channels) * map.height * map.width; }

std::vector<int> dimensions(FeatureMap map) { return {map.channels, map.height, map.width}; }

int window_count(const std::string& layer, int size, int kernel, int stride, int padding) {
  const int room = size + 2 * padding - kernel;
  if (room < 0) {
    throw InputError("layer '" + layer + "': a " + std::to_string(kernel) + "-wide window does not fit in " +
                         std::to_string(size) + " values",
                     "use a larger image_size");
  }
  return room / stride + 1;
}

FeatureMap windows(const std::string& layer, FeatureMap in, ConvWindow w) {
  return {w.out_channels, window_count(layer, in.height, w.kernel, w.stride, w.padding),
          window_count(layer, in.width, w.kernel, w.stride, w.padding)};
}

Layer map_layer(std::string name, LayerKind kind, FeatureMap in, FeatureMap out) {
  Layer layer;
  layer.name = std::move(name);
  layer.kind = kind;
  layer.in_shape = dimensions(in);
  layer.out_shape = dimensions(out);
  layer.in_elements = elements(in);
  layer.out_elements = elements(out);
  return layer;
}

}  // namespace

double parameter_elements(const Layer& layer) {
  double sum = 0;
  for (const Parameter& parameter : layer.parameters) sum += parameter.elements;
  return sum;
}

FeatureMap output_map(const Layer& layer) {
  assert(layer.out_shape.size() == 3);
  return {layer.out_shape[0], layer.out_shape[1], layer.out_shape[2]};
}

Layer conv_layer(std::string name, FeatureMap in, ConvWindow window) {
  const FeatureMap out = windows(name, in, window);
  Layer layer = map_layer(std::move(name), LayerKind::conv, in, out);
  layer.kernel = window.kernel;
  layer.stride = window.stride;
  layer.padding = window.padding;
  const double weights =
      static_cast<double>(window.out_channels) * in.channels * window.kernel * window.kernel;
  layer.parameters = {{layer.name + ".weight", weights}};
  layer.forward_macs = weights * out.height * out.width;
  layer.forward_flops = Flops(2 * layer.forward_macs);
  layer.backward_flops = 2 * layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements + weights;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.gemm = {out.height * out.width, out.channels, in.channels * window.kernel * window.kernel};
  return layer;
}

Layer batch_norm_layer(std::string name, FeatureMap in) {
  Layer layer = map_layer(std::move(name), LayerKind::batch_norm, in, in);
  layer.parameters = {{layer.name + ".weight", static_cast<double>(in.channels)},
                      {layer.name + ".bias", static_cast<double>(in.channels)}};
  layer.forward_flops = Flops(4 * layer.in_elements);
  layer.backward_flops = Flops(8 * layer.in_elements);
  layer.saved_elements = layer.in_elements;
  layer.forward_rw_elements = 3 * layer.in_elements;
  layer.backward_rw_elements = 5 * layer.in_elements;
  return layer;
}

Layer relu_layer(std::string name, FeatureMap in) {
  Layer layer = map_layer(std::move(name), LayerKind::relu, in, in);
  layer.forward_flops = Flops(layer.in_elements);
  layer.backward_flops = Flops(layer.in_elements);
  layer.forward_rw_elements = 2 * layer.in_elements;
  layer.backward_rw_elements = 3 * layer.in_elements;
  return layer;
}

Layer max_pool_layer(std::string name, FeatureMap in, int kernel, int stride, int padding) {
  const FeatureMap out = windows(name, in, {in.channels, kernel, stride, padding});
  Layer layer = map_layer(std::move(name), LayerKind::max_pool, in, out);
  layer.kernel = kernel;
  layer.stride = stride;
  layer.padding = padding;
  layer.forward_flops = Flops(layer.out_elements * kernel * kernel);
  layer.backward_flops = layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.saved_fixed = layer.out_elements * index_size;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = layer.in_elements + 2 * layer.out_elements;
  return layer;
}

Layer add_layer(std::string name, FeatureMap in) {
  Layer layer = map_layer(std::move(name), LayerKind::add, in, in);
  layer.forward_flops = Flops(layer.in_elements);
  layer.forward_rw_elements = 3 * layer.in_elements;
  return layer;
}

Layer average_pool_layer(std::string name, FeatureMap in) {
  Layer layer = map_layer(std::move(name), LayerKind::average_pool, in, {in.channels, 1, 1});
  layer.forward_flops = Flops(layer.in_elements);
  layer.backward_flops = Flops(layer.in_elements);
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = layer.in_elements + 2 * layer.out_elements;
  return layer;
}

Layer linear_layer(std::string name, int in_features, int out_features) {
  Layer layer;
  layer.name = std::move(name);
  layer.kind = LayerKind::linear;
  layer.in_shape = {1, in_features};
  layer.out_shape = {1, out_features};
  layer.in_elements = in_features;
  layer.out_elements = out_features;
  layer.forward_macs = static_cast<double>(in_features) * out_features;
  layer.parameters = {{layer.name + ".weight", layer.forward_macs},
                      {layer.name + ".bias", static_cast<double>(out_features)}};
  layer.forward_flops = Flops(2 * layer.forward_macs);
  layer.backward_flops = 2 * layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements + parameter_elements(layer);
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.gemm = {1, out_features, in_features};
  return layer;
}

Layer softmax_cross_entropy_layer(std::string name, int classes) {
  Layer layer;
  layer.name = std::move(name);
  layer.kind = LayerKind::softmax_cross_entropy;
  layer.in_shape = {classes};
  layer.out_shape = {1};
  layer.in_elements = classes;
  layer.out_elements = 1;
  layer.forward_flops = Flops(5.0 * classes);
  layer.backward_flops = Flops(2.0 * classes);
  layer.saved_elements = classes;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = layer.in_elements + 2 * layer.out_elements;
  return layer;
}

}  // namespace trainyard
