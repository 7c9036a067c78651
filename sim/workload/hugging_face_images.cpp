// The meaning of keys of models of images. Sources: see hugging_face_kinds.cpp.
#include "workload/hugging_face_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <ranges>
#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr int usual_expansion = 4;  // features inside a feed-forward half per feature of a token

/// The classes of the head: those that are named, else the number of labels.
void convert_classes(HuggingFaceConfig& config, std::string_view family) {
  constexpr int default_labels = 2;  // of transformers
  const config::Node* const names = config.find("id2label");
  if (names != nullptr && names->kind == config::Node::Kind::mapping) {
    config.put("classes", static_cast<int>(names->entries.size()), "id2label");
  } else if (const std::optional<int> labels = config.whole("num_labels")) {
    config.put("classes", *labels, "num_labels");
  } else {
    config.put("classes", default_labels, "model_type");
    config.assume(fmt::format("{}.classes", family), "model_type",
                  fmt::format("{} classes are assumed, the default of transformers", default_labels),
                  fmt::format("--set model.{}.classes=1000", family));
  }
}

/// Keys that all models of images have. Names of activations do not change a step's work.
void convert_images(HuggingFaceConfig& config, std::string_view family) {
  convert_classes(config, family);
  config.copy("image_size", "image_size");
  if (!config.has("image_size")) {
    constexpr int usual_size = 224;
    config.assume(fmt::format("{}.image_size", family), "model_type",
                  fmt::format("images of {0} x {0} pixels are assumed", usual_size),
                  fmt::format("--set model.{}.image_size={}", family, 256));
  }
  config.copy("patch_size", "patch");
  constexpr int colours = 3;
  if (config.whole("num_channels").value_or(colours) != colours)
    config.error("num_channels", "images have three colours here", "num_channels: 3");
  config.text("hidden_act");
  if (config.number("drop_path_rate").value_or(0) == 0) return;
  if (family == "swin" || family == "convnext")
    config.put_flag("drop_path", true, "drop_path_rate");
  else
    config.warn("drop_path_rate", "stochastic depth is left out", "steps are a little longer");
}

/// Refuses a key with another value than the one that is modelled.
void require_flag(HuggingFaceConfig& config, std::string_view key, bool value) {
  if (config.has(key) && config.flag(key) != value)
    config.error(key, fmt::format("{} is not modelled", value ? "a model without it" : "this part"),
                 fmt::format("{}: {}", key, value));
}

/// Refuses feed-forward halves of another width where the family has but one.
void require_usual_expansion(HuggingFaceConfig& config) {
  if (config.number("mlp_ratio").value_or(usual_expansion) != usual_expansion)
    config.error("mlp_ratio", "feed-forward halves of another width than 4 are not modelled");
}

/// Each level's number, from a list or from one number for all. Another number of them is an error.
std::vector<int> of_levels(HuggingFaceConfig& config, std::string_view key, std::size_t levels) {
  std::vector<int> values = config.wholes(key);
  if (values.size() == 1) values.resize(levels, values.front());
  if (values.size() != levels)
    config.error(key, fmt::format("{} numbers for {} levels", values.size(), levels),
                 "one number, or as many as block_out_channels");
  return values;
}

/// The classes of a U-Net's blocks on one way; the text of a default has blanks between them.
std::vector<std::string> block_types(HuggingFaceConfig& config, std::string_view key) {
  std::vector<std::string> types;
  const config::Node* const node = config.find(key);
  if (node == nullptr) return types;
  for (const config::Node& type : node->items) types.push_back(type.scalar);
  for (std::string_view rest = node->scalar; !rest.empty();) {
    types.emplace_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(types.back().size() + 1, rest.size()));
  }
  return types;
}

/// Whether each level has attention, from the classes of its blocks. The way up has to mirror the way down.
std::vector<bool> attending_levels(HuggingFaceConfig& config, std::size_t levels) {
  struct Way {
    std::string_view key, attending, plain;
    std::vector<bool> attends = {};
  };
  std::array ways{Way{"down_block_types", "CrossAttnDownBlock2D", "DownBlock2D"},
                  Way{"up_block_types", "CrossAttnUpBlock2D", "UpBlock2D"}};
  for (Way& way : ways) {
    for (const std::string& type : block_types(config, way.key)) {
      if (type != way.attending && type != way.plain)
        config.error(way.key, fmt::format("blocks of the type '{}' are not modelled", type));
      way.attends.push_back(type == way.attending);
    }
    if (way.attends.size() != levels)
      config.error(way.key,
                   fmt::format("{} blocks, but block_out_channels has {} levels", way.attends.size(), levels),
                   "a block for each level; diffusers refuses others, too");
  }
  auto& [down, up] = ways;
  if (up.attends.size() == levels && !std::ranges::equal(down.attends | std::views::reverse, up.attends))
    config.error(up.key, "a way up with attention in other levels than the way down is not modelled",
                 "the blocks of down_block_types in reverse order");
  return down.attends;
}

/// The block between the ways down and up.
void convert_middle(HuggingFaceConfig& config) {
  constexpr std::string_view key = "mid_block_type";
  const std::string type = config.text(key);
  if (!config.has(key))
    config.put("middle", std::string("none"), key);
  else if (type == "UNetMidBlock2D")
    config.put("middle", std::string("residual"), key);
  else if (type != "UNetMidBlock2DCrossAttn")
    config.error(key, "this middle block is not modelled", "UNetMidBlock2DCrossAttn, UNetMidBlock2D or null");
}

/// The embedding that a further condition adds to that of the time.
void convert_conditions(HuggingFaceConfig& config) {
  constexpr std::string_view features = "projection_class_embeddings_input_dim";
  const std::string added = config.text("addition_embed_type");
  const std::string of_classes = config.text("class_embed_type");
  if (!added.empty() && added != "text_time")
    config.error("addition_embed_type", "this embedding is not modelled", "text_time or null");
  if (!of_classes.empty() && (of_classes != "projection" || !added.empty()))
    config.error("class_embed_type", "this embedding is not modelled",
                 "projection, without another, or null");
  const bool has_conditions = !added.empty() || !of_classes.empty();
  if (has_conditions && !config.has(features))
    config.error(added.empty() ? "class_embed_type" : "addition_embed_type",
                 fmt::format("'{}' is missing", features), "add it: 2816 is SDXL's");
  if (has_conditions) config.copy(features, "conditions");
  config.find(features);  // without effect where nothing reads it
}

/// Refuses keys that add or change layers when they have another value than `usual`; "": null.
void refuse_other_layers(HuggingFaceConfig& config) {
  struct Usual {
    std::string_view key, value;
  };
  constexpr std::array all{Usual{"num_attention_heads", ""},
                           Usual{"reverse_transformer_layers_per_block", ""},
                           Usual{"encoder_hid_dim", ""},
                           Usual{"encoder_hid_dim_type", ""},
                           Usual{"num_class_embeds", ""},
                           Usual{"time_cond_proj_dim", ""},
                           Usual{"time_embedding_dim", ""},
                           Usual{"cross_attention_norm", ""},
                           Usual{"attention_type", "default"},
                           Usual{"time_embedding_type", "positional"},
                           Usual{"conv_in_kernel", "3"},
                           Usual{"conv_out_kernel", "3"},
                           Usual{"dual_cross_attention", "false"},
                           Usual{"only_cross_attention", "false"},
                           Usual{"class_embeddings_concat", "false"}};
  for (const Usual& usual : all) {
    const config::Node* const node = config.find(usual.key);
    if (node == nullptr || (node->kind == config::Node::Kind::scalar && node->scalar == usual.value))
      continue;
    config.error(usual.key, "a model with another value is not modelled",
                 fmt::format("{}: {}", usual.key, usual.value.empty() ? "null" : usual.value));
  }
}

/// The norms of the residual blocks and how the time enters them.
void convert_residual_blocks(HuggingFaceConfig& config) {
  constexpr std::string_view groups = "norm_num_groups";
  if (!config.has(groups))
    config.error(groups, "residual blocks need a number of groups; diffusers refuses null, too", "32");
  config.copy(groups, "norm_groups");
  constexpr std::string_view key = "resnet_time_scale_shift";
  const std::string shift = config.text(key);
  if (shift == "scale_shift")
    config.put_flag("scale_shift", true, key);
  else if (!shift.empty() && shift != "default")
    config.error(key, "the time cannot enter blocks in this way here", "default or scale_shift");
  if (config.number("dropout").value_or(0) > 0)
    config.warn("dropout", "dropout is left out", "steps are a little longer");
}

}  // namespace

void convert_vit(HuggingFaceConfig& config) {
  convert_images(config, "vit");
  constexpr std::array copies{KeyCopy{"hidden_size", "hidden"}, KeyCopy{"num_hidden_layers", "layers"},
                              KeyCopy{"num_attention_heads", "heads"}, KeyCopy{"intermediate_size", "ffn"},
                              KeyCopy{"use_mask_token", "mask_token"}};
  for (const KeyCopy& copy : copies) config.copy(copy.from, copy.key);
  if (const auto ratio = config.number("mlp_ratio"))
    config.put("ffn", static_cast<int>(std::lround(*ratio * config.whole("hidden_size").value_or(0))),
               "mlp_ratio");
  config.put_flag("dropout", config.number("hidden_dropout_prob").value_or(0) > 0, "hidden_dropout_prob");
  require_flag(config, "qkv_bias", true);
  require_flag(config, "use_swiglu_ffn", false);
  config.put("attention", std::string("flash"), "model_type");
}

void convert_swin(HuggingFaceConfig& config) {
  convert_images(config, "swin");
  config.copy("embed_dim", "hidden");
  config.copy("window_size", "window");
  config.put("depths", config.wholes("depths"), "depths");
  config.put("heads", config.wholes("num_heads"), "num_heads");
  require_usual_expansion(config);
  require_flag(config, "qkv_bias", true);
  require_flag(config, "use_absolute_embeddings", false);
}

void convert_stages(HuggingFaceConfig& config, std::string_view model_type) {
  const bool is_regnet = model_type == "regnet";
  convert_images(config, is_regnet ? "regnet" : "convnext");
  if (is_regnet) require_flag(config, "downsample_in_first_stage", true);
  config.put("depths", config.wholes("depths"), "depths");
  config.put("widths", config.wholes("hidden_sizes"), "hidden_sizes");
  if (!is_regnet) {
    if (model_type == "convnext" && config.number("layer_scale_init_value").value_or(0) <= 0)
      config.error("layer_scale_init_value", "blocks without a layer scale are not modelled", "1e-6");
    return;
  }
  config.copy("embedding_size", "stem");
  config.copy("groups_width", "group_width");
  config.put_flag("squeeze_excite", config.text("layer_type") == "y", "layer_type");
}

void convert_resnet(HuggingFaceConfig& config) {
  convert_images(config, "resnet");
  require_flag(config, "downsample_in_first_stage", false);
  const bool is_basic = config.text("layer_type") == "basic";
  const std::vector<int> sizes = config.wholes("hidden_sizes");
  const int width = config.whole("embedding_size").value_or(0);
  config.put("blocks", config.wholes("depths"), "depths");
  config.copy("embedding_size", "width");
  if (is_basic) config.put("block", std::string("basic"), "layer_type");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != (width << i) * (is_basic ? 1 : 4)) {
      config.error("hidden_sizes", "stages of other widths than ResNet's are not modelled",
                   "embedding_size x 1, 2, 4, 8; four times as many of bottlenecks");
      break;
    }
  }
  if (config.flag("downsample_in_bottleneck"))
    config.put("stride_on", std::string("conv1"), "downsample_in_bottleneck");
}

void convert_diffusion_unet(HuggingFaceConfig& config) {
  const std::vector<int> channels = config.wholes("block_out_channels");
  if (channels.empty()) {
    config.error("block_out_channels", "the model has no levels", "[320, 640, 1280, 1280]");
    return;
  }
  const std::vector<bool> attends = attending_levels(config, channels.size());
  std::vector<int> layers = of_levels(config, "transformer_layers_per_block", channels.size());
  if (!layers.empty()) config.put("middle_layers", layers.back(), "transformer_layers_per_block");
  for (std::size_t i = 0; i < layers.size() && i < attends.size(); ++i)
    layers[i] = attends[i] ? layers[i] : 0;
  config.put("channels", channels, "block_out_channels");
  config.put("transformer_layers", layers, "down_block_types");
  config.put("heads", of_levels(config, "attention_head_dim", channels.size()), "attention_head_dim");
  constexpr std::array copies{
      KeyCopy{"layers_per_block", "blocks"}, KeyCopy{"cross_attention_dim", "text_features"},
      KeyCopy{"sample_size", "latent_size"}, KeyCopy{"in_channels", "latent_channels"}};
  for (const KeyCopy& copy : copies) config.copy(copy.from, copy.key);
  if (!config.has("sample_size"))
    config.assume("diffusion_unet.latent_size", "sample_size", "latent maps of 64 x 64 are assumed",
                  "--set model.diffusion_unet.latent_size=128");
  if (config.whole("in_channels") != config.whole("out_channels"))
    config.error("in_channels", "inputs besides the latent are not modelled", "as many as out_channels");
  convert_middle(config);
  convert_conditions(config);
  convert_residual_blocks(config);
  refuse_other_layers(config);
}

}  // namespace trainyard
