#pragma once
// Inception v3 (Szegedy et al. 2015, arXiv 1512.00567) from its hyper-parameters: a stem of convolutions,
// eleven blocks of parallel branches whose outputs are concatenated, each convolution followed by batch norm
// and ReLU. Layer names are short forms of torchvision's.

#include "config/keys.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

struct InceptionV3Hyperparameters {
  bool auxiliary = false;        ///< the second classifier, after the blocks of 17 x 17
  bool batch_norm_scale = true;  ///< whether batch norms learn a scale besides the bias
  int image_size = 299;
  int classes = 1000;
};

/// The layers in forward order, block by block and branch by branch, ending in the fully connected one:
/// dropout and the loss move too little to count. Concatenation is free, and each branch keeps the input of
/// its block. Throws InputError if the image is too small for the strides.
std::vector<Layer> inception_v3_layers(const InceptionV3Hyperparameters& parameters);

namespace config {

template <>
struct Keys<InceptionV3Hyperparameters> {
  static auto table() {
    using I = InceptionV3Hyperparameters;
    return keys(
        optional("auxiliary", &I::auxiliary, "true: with the auxiliary classifier, which only training uses"),
        optional("batch_norm_scale", &I::batch_norm_scale,
                 "true: batch norms learn a scale and a bias; false: only a bias"),
        optional("image_size", &I::image_size, "width and height of the square RGB input, in pixels")
            .at_least(16)
            .at_most(8192),
        optional("classes", &I::classes, "classes (outputs of the last layer)")
            .at_least(1)
            .at_most(10'000'000));
  }
};

}  // namespace config
}  // namespace trainyard
