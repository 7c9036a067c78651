#pragma once
// Vision Transformers (Dosovitskiy et al. 2020, arXiv 2010.11929) from their hyper-parameters: an image is
// cut into square patches, which an encoder treats as tokens, and a class token decides. Also DeiT (Touvron
// et al. 2020, arXiv 2012.12877), with a second such token, and DINOv2 (Oquab et al. 2023, arXiv 2304.07193).

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
  bool distilled = false;    ///< DeiT: a distillation token with classes and a loss of its own
  bool layer_scale = false;  ///< DINOv2, CaiT: a factor for each feature before the residual sums
  bool mask_token = false;   ///< DINOv2: an embedding in place of masked patches
  bool mean_head = false;    ///< DINOv2: the classes also read the mean of the patches
  AttentionKernel attention = AttentionKernel::unfused;
};

/// Patches of an image, the class token and that of distillation.
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
        optional("distilled", &V::distilled, "true: a distillation token with classes of its own (DeiT)"),
        optional("layer_scale", &V::layer_scale,
                 "true: a learned factor for each feature before the residual sums (DINOv2)"),
        optional("mask_token", &V::mask_token, "true: an embedding in place of masked patches (DINOv2)"),
        optional("mean_head", &V::mean_head,
                 "true: the classes read the class token and the mean of the patches (DINOv2)"),
        optional("attention", &V::attention, "kernels of the attention"));
  }
};

}  // namespace config
}  // namespace trainyard
