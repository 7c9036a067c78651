#include "workload/vision_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

/// Channels of a map, features of tokens or of a vector.
double channels_of(const std::vector<int>& shape) {
  constexpr std::size_t of_maps = 3;
  return shape.size() == of_maps ? shape.front() : shape.back();
}

void add_scale_and_bias(Layer& layer, double channels) {
  layer.parameters = {{layer.name + ".weight", channels}, {layer.name + ".bias", channels}};
}

constexpr VectorCosts of_factors{.forward_flops = 1, .backward_flops = 3, .backward_passes = 6};

}  // namespace

Layer group_norm_layer(std::string name, FeatureMap in) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::group_norm, dimensions(in),
                   {.forward_flops = 8, .backward_flops = 14, .forward_passes = 3, .backward_passes = 5});
  add_scale_and_bias(layer, in.channels);
  return layer;
}

Layer response_norm_layer(std::string name, const std::vector<int>& shape) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::response_norm, shape,
                   {.forward_flops = 7, .backward_flops = 14, .forward_passes = 8, .backward_passes = 16});
  layer.saved_elements = 2 * layer.in_elements;  // the input, and its product with the normalised input
  add_scale_and_bias(layer, channels_of(shape));
  return layer;
}

Layer layer_scale_layer(std::string name, const std::vector<int>& shape) {
  Layer layer = vector_layer(std::move(name), LayerKind::layer_scale, shape, of_factors);
  layer.parameters = {{layer.name + ".weight", channels_of(shape)}};
  return layer;
}

Layer frozen_norm_layer(std::string name, FeatureMap in) {
  return vector_layer(std::move(name), LayerKind::layer_scale, dimensions(in),
                      {.forward_flops = 2,
                       .backward_flops = 1,
                       .forward_passes = 4,
                       .backward_passes = 2,
                       .keeps_input = false});
}

Layer drop_path_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::drop_path, shape,
                      {.forward_flops = 1, .backward_flops = 1, .backward_passes = 2, .keeps_input = false});
}

Layer channel_product_layer(std::string name, const std::vector<int>& shape) {
  Layer layer = vector_layer(std::move(name), LayerKind::multiply, shape, of_factors);
  layer.per_channel = true;
  return layer;
}

Layer channel_sum_layer(std::string name, const std::vector<int>& shape) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::add, shape,
                   {.forward_flops = 1, .backward_flops = 1, .backward_passes = 1, .keeps_input = false});
  layer.per_channel = true;
  return layer;
}

Layer modulate_layer(std::string name, const std::vector<int>& shape) {
  return vector_layer(std::move(name), LayerKind::modulate, shape,
                      {.forward_flops = 2, .backward_flops = 4, .forward_passes = 4, .backward_passes = 7});
}

Layer upsample_layer(std::string name, FeatureMap in, int factor) {
  Layer layer = shaped_layer(std::move(name), LayerKind::upsample, dimensions(in),
                             {in.channels, in.height * factor, in.width * factor});
  layer.backward_flops = Flops(layer.out_elements);
  layer.forward_rw_elements = layer.backward_rw_elements = layer.in_elements + layer.out_elements;
  return layer;
}

Layer copy_layer(std::string name, const std::vector<int>& in, const std::vector<int>& out) {
  Layer layer = shaped_layer(std::move(name), LayerKind::copy, in, out);
  layer.forward_rw_elements = layer.backward_rw_elements = layer.in_elements + layer.out_elements;
  return layer;
}

Layer squared_error_layer(std::string name, const std::vector<int>& shape) {
  Layer layer = vector_layer(std::move(name), LayerKind::squared_error, shape,
                             {.forward_flops = 3, .backward_flops = 3, .forward_passes = 3});
  layer.out_shape = {1};
  layer.out_elements = 1;
  return layer;
}

}  // namespace trainyard
