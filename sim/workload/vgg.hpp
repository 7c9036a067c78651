#pragma once
// VGG networks (Simonyan & Zisserman 2014, arXiv 1409.1556) from their hyper-parameters: stages of 3x3
// convolutions with bias, each followed by a maximum pooling that halves the image, then three fully
// connected layers.

#include "config/keys.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

struct VggHyperparameters {
  std::vector<int> convs;  ///< convolutions per stage
  int width = 64;          ///< channels of the first stage; doubled in each following one, up to eight times
  int hidden = 4096;       ///< outputs of the first two fully connected layers
  int image_size = 224;
  int classes = 1000;
};

/// The layers in forward order, ending in the last fully connected one: the classifier's dropout and the loss
/// move too little to count. Convolutions and poolings are numbered together. Throws InputError if the image
/// is too small for the poolings, or so large that the first fully connected layer has 2^31 inputs.
std::vector<Layer> vgg_layers(const VggHyperparameters& parameters);

namespace config {

template <>
struct Keys<VggHyperparameters> {
  static auto table() {
    using V = VggHyperparameters;
    return keys(required("convs", &V::convs, "3x3 convolutions of each stage").at_least(1).at_most(1000),
                optional("width", &V::width,
                         "channels of the first stage, doubled from stage to stage up to 8 x width")
                    .at_least(1)
                    .at_most(1024),
                optional("hidden", &V::hidden, "outputs of the first two fully connected layers")
                    .at_least(1)
                    .at_most(1e6),
                optional("image_size", &V::image_size, "width and height of the square RGB input, in pixels")
                    .at_least(16)
                    .at_most(8192),
                optional("classes", &V::classes, "classes (outputs of the last layer)")
                    .at_least(1)
                    .at_most(10'000'000));
  }
};

}  // namespace config
}  // namespace trainyard
