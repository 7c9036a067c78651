#pragma once
// AlexNet in one tower (Krizhevsky 2014, arXiv 1404.5997, and frameworks' variants of the 2012 network) from
// its hyper-parameters: five convolutions with bias, three maximum poolings, three fully connected layers.
// The frameworks' versions differ in channels, padding and image size, and so in parameters.

#include "config/keys.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

struct AlexnetHyperparameters {
  std::vector<int> convs;  ///< channels of the five convolutions
  int first_padding = 2;   ///< around the image, for the first convolution's 11 x 11 window
  bool local_response_norm = false;
  int hidden = 4096;  ///< outputs of the first two fully connected layers
  int image_size = 224;
  int classes = 1000;
};

/// The layers in forward order, ending in the last fully connected one: the classifier's ReLUs and dropout
/// and the loss move too little to count. Convolutions count from conv0; the layers after one have its
/// number. Throws InputError if the image is too small for the windows, or so large that the first fully
/// connected layer has 2^31 inputs.
std::vector<Layer> alexnet_layers(const AlexnetHyperparameters& parameters);

namespace config {

template <>
struct Keys<AlexnetHyperparameters> {
  static auto table() {
    using A = AlexnetHyperparameters;
    return keys(required("convs", &A::convs, "channels of the five convolutions").at_least(1).at_most(65'536),
                optional("first_padding", &A::first_padding, "zero padding around the image, in pixels")
                    .at_least(0)
                    .at_most(5),
                optional("local_response_norm", &A::local_response_norm,
                         "true: local response normalisation after the first two poolings"),
                optional("hidden", &A::hidden, "outputs of the first two fully connected layers")
                    .at_least(1)
                    .at_most(1e6),
                optional("image_size", &A::image_size, "width and height of the square RGB input, in pixels")
                    .at_least(16)
                    .at_most(8192),
                optional("classes", &A::classes, "classes (outputs of the last layer)")
                    .at_least(1)
                    .at_most(10'000'000));
  }
};

}  // namespace config
}  // namespace trainyard
