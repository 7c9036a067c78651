#pragma once
// ConvNeXt (Liu et al. 2022, arXiv 2201.03545) and ConvNeXt V2 (Woo et al. 2023, arXiv 2301.00808) from their
// hyper-parameters: stages of depthwise convolutions with a transformer's feed-forward half.

#include "config/keys.hpp"
#include "workload/image_keys.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

struct ConvnextHyperparameters {
  std::vector<int> depths;  ///< blocks of each stage
  std::vector<int> widths;  ///< channels of each stage
  int version = 1;          ///< 2: global response normalisation in place of layer scale
  int patch = 4;            ///< kernel and stride of the first convolution
  int image_size = 224;
  int classes = 1000;
  bool drop_path = false;
};

/// The layers in forward order, ending in the loss. Blocks are lists of layers (layer_list.hpp). Copies
/// between maps and tokens are free, as with channels_last. Throws InputError if an image is too small.
std::vector<Layer> convnext_layers(const ConvnextHyperparameters& parameters);

namespace config {

template <>
struct Keys<ConvnextHyperparameters> {
  static auto table() {
    using C = ConvnextHyperparameters;
    return keys(
        depths_key<C>(), widths_key<C>(),
        optional("version", &C::version, "1: a layer scale in each block; 2: global response normalisation")
            .between(1, 2),
        optional("patch", &C::patch, "kernel and stride of the first convolution").at_least(1).at_most(64),
        image_size_key<C>(), classes_key<C>(), drop_path_key<C>());
  }
};

}  // namespace config
}  // namespace trainyard
