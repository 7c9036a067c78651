// The meaning of keys of models of images. Sources: see hugging_face_kinds.cpp.
#include "workload/hugging_face_config.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string>

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

/// Each level's number, from a list or from one number for all.
std::vector<int> of_levels(HuggingFaceConfig& config, std::string_view key, std::size_t levels) {
  std::vector<int> values = config.wholes(key);
  if (values.size() == 1) values.resize(levels, values.front());
  return values;
}

/// Whether each level has attention, from the names of its class.
std::vector<bool> attending_levels(HuggingFaceConfig& config, std::size_t levels) {
  std::vector<bool> attending(levels, true);
  const config::Node* const types = config.find("down_block_types");
  if (types == nullptr) {
    attending.back() = false;  // the default of diffusers
    return attending;
  }
  attending.clear();
  for (const config::Node& type : types->items) {
    const bool is_known = type.scalar == "CrossAttnDownBlock2D" || type.scalar == "DownBlock2D";
    if (!is_known)
      config.error("down_block_types", fmt::format("blocks of the type '{}' are not modelled", type.scalar));
    attending.push_back(type.scalar != "DownBlock2D");
  }
  return attending;
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
      KeyCopy{"projection_class_embeddings_input_dim", "conditions"}, KeyCopy{"sample_size", "latent_size"},
      KeyCopy{"in_channels", "latent_channels"}};
  for (const KeyCopy& copy : copies) config.copy(copy.from, copy.key);
  if (config.whole("in_channels") != config.whole("out_channels"))
    config.error("in_channels", "inputs besides the latent are not modelled", "as many as out_channels");
  if (config.has("mid_block_type") && config.text("mid_block_type") != "UNetMidBlock2DCrossAttn")
    config.error("mid_block_type", "this middle block is not modelled", "UNetMidBlock2DCrossAttn");
  for (const char* key : {"dual_cross_attention", "only_cross_attention", "class_embeddings_concat"})
    require_flag(config, key, false);
}

}  // namespace trainyard
