#pragma once
// Swin Transformers (Liu et al. 2021, arXiv 2103.14030) and Swin V2 (arXiv 2111.09883) from their
// hyper-parameters: stages of blocks with attention inside windows, shifted in every second block; between
// stages, squares of 2 x 2 tokens become one.

#include "config/keys.hpp"
#include "workload/image_keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <vector>

namespace trainyard {

struct SwinHyperparameters {
  std::vector<int> depths;  ///< blocks of each stage
  int hidden = 0;           ///< features of the first stage; each later one has twice as many
  std::vector<int> heads;   ///< of each stage
  int window = 7;           ///< height and width in tokens
  int version = 1;          ///< 2: norms after attention and feed-forward, cosines, a computed bias
  bool key_bias = true;     ///< of version 2: its projection of keys has a bias that is kept at zero
  int patch = 4;
  int image_size = 224;
  int classes = 1000;
  bool drop_path = false;
  AttentionKernel attention = AttentionKernel::unfused;
};

/// The layers in forward order, ending in the loss. Each block pads its tokens by
/// none, which copies them, and copies them into windows and back; shifted ones copy in both directions of
/// the shift, before and after (pytorch/vision torchvision/models/swin_transformer.py,
/// shifted_window_attention; PyTorch aten/src/ATen/native/PadNd.cpp, TensorTransformations.h, roll_common).
/// Throws InputError if windows do not divide the map of a stage.
std::vector<Layer> swin_layers(const SwinHyperparameters& parameters);

namespace config {

template <>
struct Keys<SwinHyperparameters> {
  static auto table() {
    using S = SwinHyperparameters;
    return keys(
        depths_key<S>(),
        required("hidden", &S::hidden, "features per token of the first stage; later stages double them")
            .at_least(1)
            .at_most(100'000),
        required("heads", &S::heads, "attention heads of each stage: a number for each")
            .at_least(1)
            .at_most(10'000),
        optional("window", &S::window, "height and width of a window in tokens").at_least(1).at_most(10'000),
        optional("version", &S::version, "1: Swin; 2: Swin V2").between(1, 2),
        optional("key_bias", &S::key_bias,
                 "of version 2: true: the joint projection has a bias of the keys, too (torchvision)"),
        optional("patch", &S::patch, "height and width of a patch in pixels").at_least(1).at_most(10'000),
        image_size_key<S>(), classes_key<S>(), drop_path_key<S>(),
        optional("attention", &S::attention, "kernels of the attention"));
  }
};

}  // namespace config
}  // namespace trainyard
