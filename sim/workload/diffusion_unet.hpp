#pragma once
// The U-Net of latent diffusion (Rombach et al. 2021, arXiv 2112.10752; Stable Diffusion, SDXL: Podell et al.
// 2023, arXiv 2307.01952) from its hyper-parameters: levels of residual blocks and transformers that attend
// to the tokens of a text, down and up again with connections between equal levels.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

/// The block between the ways down and up.
enum class UnetMiddle {
  transformer,  ///< two residual blocks and a transformer between them
  residual,     ///< one residual block
  none
};

struct DiffusionUnetHyperparameters {
  std::vector<int> channels;            ///< of each level
  std::vector<int> transformer_layers;  ///< in each block of a level; 0: no attention there
  UnetMiddle middle = UnetMiddle::transformer;
  int middle_layers = 1;     ///< transformer layers of the middle block
  std::vector<int> heads;    ///< attention heads of each level
  int blocks = 2;            ///< residual blocks of a level on the way down; one more on the way up
  bool scale_shift = false;  ///< the time gives a factor and a summand of each channel, not a summand alone
  int norm_groups = 32;      ///< of channels, in each group norm; they divide the channels of all levels
  int text_features = 768;
  int text_tokens = 77;
  std::optional<int> conditions = {};  ///< features of an embedding added to that of the time (SDXL: 2816)
  int latent_size = 64;                ///< height and width of the latent map
  int latent_channels = 4;
  AttentionKernel attention = AttentionKernel::flash;
};

/// The layers in forward order, ending in the loss: the squared error of the predicted noise. Encoders of
/// images and texts, which are not trained, are no part of it. Source of the order and the biases:
/// huggingface/diffusers src/diffusers/models/unets/unet_2d_condition.py, models/resnet.py and
/// attention_processor.py: a SiLU of the time and its projection in each residual block, queries, keys and
/// values in products of their own. Throws InputError if the levels
/// cannot halve the map.
std::vector<Layer> diffusion_unet_layers(const DiffusionUnetHyperparameters& parameters);

namespace config {

template <>
struct Names<UnetMiddle> {
  static constexpr std::string_view what = "middle block";
  static constexpr std::array table{
      Name{"transformer", UnetMiddle::transformer, "two residual blocks and a transformer between them"},
      Name{"residual", UnetMiddle::residual, "one residual block"}, Name{"none", UnetMiddle::none, "none"}};
};

template <>
struct Keys<DiffusionUnetHyperparameters> {
  static auto table() {
    using D = DiffusionUnetHyperparameters;
    constexpr double most = 100'000;
    return keys(
        required("channels", &D::channels, "channels of each level: a number for each")
            .at_least(1)
            .at_most(most),
        required("transformer_layers", &D::transformer_layers,
                 "transformer layers in each block of a level; 0: no attention")
            .at_least(0)
            .at_most(1'000),
        optional("middle", &D::middle, "the block between the ways down and up"),
        optional("middle_layers", &D::middle_layers, "transformer layers of the middle block")
            .at_least(1)
            .at_most(1'000),
        required("heads", &D::heads, "attention heads of each level: a number for each")
            .at_least(1)
            .at_most(most),
        optional("blocks", &D::blocks, "residual blocks of a level on the way down").at_least(1).at_most(100),
        optional("scale_shift", &D::scale_shift,
                 "true: the time gives each channel a factor and a summand; false: a summand"),
        optional("norm_groups", &D::norm_groups, "groups of channels in each group norm")
            .at_least(1)
            .at_most(most),
        optional("text_features", &D::text_features, "features of a token of the text")
            .at_least(1)
            .at_most(most),
        optional("text_tokens", &D::text_tokens, "tokens of the text").at_least(1).at_most(most),
        optional("conditions", &D::conditions,
                 "features of an embedding that is added to that of the time (SDXL); default: none")
            .at_least(1)
            .at_most(most),
        optional("latent_size", &D::latent_size, "height and width of the latent map")
            .at_least(1)
            .at_most(most),
        optional("latent_channels", &D::latent_channels, "channels of the latent map")
            .at_least(1)
            .at_most(most),
        optional("attention", &D::attention, "kernels of the attention"));
  }
};

}  // namespace config
}  // namespace trainyard
