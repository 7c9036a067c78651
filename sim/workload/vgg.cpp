#include "workload/vgg.hpp"

#include <algorithm>
#include <string>

namespace trainyard {
namespace {

constexpr int widest = 8;  // relative to the first stage's channels

void append_linear(std::vector<Layer>& layers, int index, int in, int out) {
  layers.push_back(linear_layer("fc" + std::to_string(index), in, out));
}

}  // namespace

std::vector<Layer> vgg_layers(const VggHyperparameters& parameters) {
  std::vector<Layer> layers;
  FeatureMap map{3, parameters.image_size, parameters.image_size};
  int scale = 1;
  int index = 0;  // counts convolutions and poolings
  for (const int convs : parameters.convs) {
    for (int c = 0; c < convs; ++c, ++index) {
      const std::string number = std::to_string(index);
      layers.push_back(conv_layer("conv" + number, map, {scale * parameters.width, 3, 1, 1, true}));
      map = output_map(layers.back());
      layers.push_back(relu_layer("relu" + number, dimensions(map)));
    }
    layers.push_back(max_pool_layer("pool" + std::to_string(index++), map, 2, 2, 0));
    map = output_map(layers.back());
    scale = std::min(2 * scale, widest);
  }
  set_reads_data(layers.front());

  // The fully connected layers are called fc6 to fc8, as in the first publications of the 16-layer network.
  append_linear(layers, 6, flattened("fc6", map), parameters.hidden);
  layers.push_back(relu_layer("relu6", {parameters.hidden}));
  append_linear(layers, 7, parameters.hidden, parameters.hidden);
  layers.push_back(relu_layer("relu7", {parameters.hidden}));
  append_linear(layers, 8, parameters.hidden, parameters.classes);
  return layers;
}

}  // namespace trainyard
