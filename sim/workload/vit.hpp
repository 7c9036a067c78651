#pragma once
// Vision Transformers (Dosovitskiy et al. 2020, arXiv 2010.11929) from their hyper-parameters: an image is
// cut into square patches, which an encoder treats as tokens, and a class token decides.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct VitHyperparameters {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  std::optional<int> ffn = {};  ///< default: 4 hidden
  int patch = 16;               ///< its height and width in pixels
  int image_size = 224;
  int classes = 1000;
  bool dropout = false;
  AttentionKernel attention = AttentionKernel::unfused;
};

/// Patches of an image and the class token.
int vit_tokens(const VitHyperparameters& parameters);

/// The layers in forward order, ending in the loss: the projection of the patches, a convolution whose stride
/// is its size; blocks with the norm before attention and feed-forward; the classes from the class token
/// alone. The heads must divide hidden. Appending the class token is free. Throws InputError if a patch does
/// not fit into the image.
std::vector<Layer> vit_layers(const VitHyperparameters& parameters);

namespace config {

template <>
struct Keys<VitHyperparameters> {
  static auto table() {
    using V = VitHyperparameters;
    return keys(
        required("layers", &V::layers, "transformer blocks").at_least(1).at_most(10'000),
        required("hidden", &V::hidden, "features per token").at_least(1).at_most(1e6),
        required("heads", &V::heads, "attention heads; must divide hidden").at_least(1).at_most(1e6),
        optional("ffn", &V::ffn, "features between the two linear layers of a block; default: 4 x hidden")
            .at_least(1)
            .at_most(1e7),
        optional("patch", &V::patch, "height and width of a patch in pixels").at_least(1).at_most(1e4),
        optional("image_size", &V::image_size, "height and width of an image in pixels")
            .at_least(1)
            .at_most(1e5),
        optional("classes", &V::classes, "classes").at_least(1).at_most(1e8),
        optional("dropout", &V::dropout,
                 "true: dropout of the embedded patches, of the attention probabilities and before the "
                 "residual sums"),
        optional("attention", &V::attention, "kernels of the attention"));
  }
};

}  // namespace config
}  // namespace trainyard
