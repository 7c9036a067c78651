#include "workload/alexnet.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace trainyard {
namespace {

/// One of the five convolutions and the layers after it.
struct AlexnetStage {
  int kernel = 0, stride = 1, padding = 0;
  bool has_pooling = false;
  bool has_norm = false;  ///< only in versions with normalisation
};

std::array<AlexnetStage, 5> stages_of(const AlexnetHyperparameters& parameters) {
  return {AlexnetStage{11, 4, parameters.first_padding, true, true}, AlexnetStage{5, 1, 2, true, true},
          AlexnetStage{3, 1, 1}, AlexnetStage{3, 1, 1}, AlexnetStage{3, 1, 1, true}};
}

}  // namespace

std::vector<Layer> alexnet_layers(const AlexnetHyperparameters& parameters) {
  std::vector<Layer> layers;
  FeatureMap map{3, parameters.image_size, parameters.image_size};
  const auto stages = stages_of(parameters);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const AlexnetStage& stage = stages[s];
    const std::string number = std::to_string(s);
    layers.push_back(conv_layer("conv" + number, map,
                                {parameters.convs.at(s), stage.kernel, stage.stride, stage.padding, true}));
    map = output_map(layers.back());
    layers.push_back(relu_layer("relu" + number, dimensions(map)));
    if (!stage.has_pooling) continue;
    layers.push_back(max_pool_layer("pool" + number, map, 3, 2, 0));
    map = output_map(layers.back());
    if (stage.has_norm && parameters.local_response_norm) {
      layers.push_back(local_response_norm_layer("lrn" + number, map));
    }
  }
  set_reads_data(layers.front());

  // Numbers continue after the five convolutions, as in the network's first publication.
  layers.push_back(linear_layer("fc6", flattened("fc6", map), parameters.hidden));
  layers.push_back(linear_layer("fc7", parameters.hidden, parameters.hidden));
  layers.push_back(linear_layer("fc8", parameters.hidden, parameters.classes));
  return layers;
}

}  // namespace trainyard
