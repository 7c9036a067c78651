#include "workload/diffusion_unet.hpp"

#include "workload/list_entries.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <utility>

namespace trainyard {
namespace {

using enum FollowingLayer;
using List = std::vector<ListedLayer>;

constexpr int kernel = 3;

ListedLayer with_kind(ListedCrossAttention attention) {
  ListedLayer entry;
  entry.cross_attention = std::move(attention);
  return entry;
}

/// Writes the levels one after the other. The names of blocks stand in the outermost list, so that those on
/// the way up find their partners.
class UnetList {
public:
  explicit UnetList(const DiffusionUnetHyperparameters& parameters)
      : parameters_(parameters), side_(parameters.latent_size) {}

  List build() {
    append_inputs();
    const int levels = static_cast<int>(parameters_.channels.size());
    for (int level = 0; level < levels; ++level) append_down(level, level + 1 < levels);
    append_middle();
    for (int level = levels - 1; level >= 0; --level) append_up(level, level > 0);
    list_.push_back(plain_entry(&ListedLayer::group_norm, {silu}));
    list_.push_back(named("conv_out", conv_entry({.out = parameters_.latent_channels, .kernel = kernel})));
    list_.push_back(plain_entry(&ListedLayer::squared_error));
    return std::move(list_);
  }

private:
  /// A tensor that a block on the way up reads again.
  struct Skip {
    std::string name;
    int channels = 0;
  };

  [[nodiscard]] int channels_of(int level) const {
    return parameters_.channels[static_cast<std::size_t>(level)];
  }

  void append_inputs() {
    const int size = parameters_.latent_size;
    const int first = channels_of(0);
    embedded_ = 4 * first;
    list_.push_back(input_entry({parameters_.latent_channels, size, size}));
    list_.push_back(input_entry({parameters_.text_tokens, parameters_.text_features}, "text"));
    list_.push_back(input_entry({first}, "sines"));
    list_.push_back(reading("sines", linear_entry(embedded_, {silu})));
    const bool has_conditions = parameters_.conditions.has_value();
    list_.push_back(named(has_conditions ? "time" : "embedded", linear_entry(embedded_)));
    if (has_conditions) {
      list_.push_back(input_entry({*parameters_.conditions}, "conditions"));
      list_.push_back(reading("conditions", linear_entry(embedded_, {silu})));
      list_.push_back(named("condition", linear_entry(embedded_)));
      list_.push_back(named("embedded", join_entry(&ListedLayer::add, {"time", "condition"})));
    }
    list_.push_back(reading("input", named("conv_in", conv_entry({.out = first, .kernel = kernel}))));
    skips_.push_back({"conv_in", first});
    channels_ = first;
  }

  /// Two convolutions between which the embedding of the time shifts the values, or scales and shifts them,
  /// and their sum with the block's input.
  void append_residual(List& list, int out) {
    const bool scales = parameters_.scale_shift;
    list.push_back(reading("embedded", plain_entry(&ListedLayer::silu)));
    list.push_back(named("shift", linear_entry(scales ? 2 * out : out)));
    list.push_back(reading("input", plain_entry(&ListedLayer::group_norm, {silu})));
    list.push_back(conv_entry({.out = out, .kernel = kernel}));
    if (scales) list.push_back(plain_entry(&ListedLayer::group_norm));
    if (scales)
      list.push_back(join_entry(&ListedLayer::modulate, {"previous", "shift"}, {silu}));
    else
      list.push_back(join_entry(&ListedLayer::add, {"previous", "shift"}, {group_norm, silu}));
    list.push_back(named("residual", conv_entry({.out = out, .kernel = kernel})));
    const bool has_shortcut = channels_ != out;
    if (has_shortcut) list.push_back(reading("input", named("shortcut", conv_entry({.out = out}))));
    list.push_back(join_entry(&ListedLayer::add, {"residual", has_shortcut ? "shortcut" : "input"}));
    channels_ = out;
  }

  /// Self-attention, attention to the text and a gated feed-forward half.
  [[nodiscard]] List transformer_layer(int heads) const {
    const int width = channels_;
    ListedLayer self;
    self.attention = ListedAttention{.heads = heads, .kernel = parameters_.attention};
    return {plain_entry(&ListedLayer::layer_norm),
            named("qkv", linear_without_bias(3 * width)),
            self,
            linear_entry(width),
            named("attended", join_entry(&ListedLayer::add, {"previous", "input"})),
            reading("text", named("keys", linear_without_bias(2 * width))),
            reading("attended", plain_entry(&ListedLayer::layer_norm)),
            linear_without_bias(width),
            with_kind({.inputs = {"previous", "keys"}, .heads = heads, .kernel = parameters_.attention}),
            linear_entry(width),
            named("crossed", join_entry(&ListedLayer::add, {"previous", "attended"})),
            plain_entry(&ListedLayer::layer_norm),
            linear_entry(8 * width),
            plain_entry(&ListedLayer::geglu),
            linear_entry(width),
            join_entry(&ListedLayer::add, {"previous", "crossed"})};
  }

  void append_transformer(List& list, const std::string& input, int layers, int heads) {
    list.push_back(reading(input, plain_entry(&ListedLayer::group_norm)));
    list.push_back(plain_entry(&ListedLayer::tokens));
    list.push_back(linear_entry(channels_));
    list.push_back(group_entry("layer", transformer_layer(heads), layers));
    list.push_back(linear_entry(channels_));
    list.push_back(map_entry(side_));
    list.push_back(join_entry(&ListedLayer::add, {"previous", input}));
  }

  /// A residual block with the transformer behind it. The entry before it is its input.
  void append_block(const std::string& name, int level) {
    const auto at = static_cast<std::size_t>(level);
    List residual;
    append_residual(residual, channels_of(level));
    list_.push_back(group_entry(name, std::move(residual)));
    if (parameters_.transformer_layers[at] == 0) return;
    List transformer;
    append_transformer(transformer, "input", parameters_.transformer_layers[at], parameters_.heads[at]);
    list_.push_back(group_entry(name + "_attention", std::move(transformer)));
  }

  void append_down(int level, bool has_next) {
    for (int i = 0; i < parameters_.blocks; ++i) {
      append_block(fmt::format("down{}_{}", level, i), level);
      skips_.push_back({*list_.back().name, channels_});
    }
    if (!has_next) return;
    const std::string name = fmt::format("down{}_conv", level);
    list_.push_back(named(name, conv_entry({.out = channels_, .kernel = kernel, .stride = 2})));
    skips_.push_back({name, channels_});
    side_ = strided(side_, 2);
  }

  void append_middle() {
    if (parameters_.middle == UnetMiddle::none) return;
    const auto last = parameters_.channels.size() - 1;
    List middle;
    append_residual(middle, channels_);
    list_.push_back(group_entry("middle_0", std::move(middle)));
    if (parameters_.middle == UnetMiddle::residual) return;
    List transformer;
    append_transformer(transformer, "input", parameters_.middle_layers, parameters_.heads[last]);
    list_.push_back(group_entry("middle_attention", std::move(transformer)));
    List second;
    append_residual(second, channels_);
    list_.push_back(group_entry("middle_1", std::move(second)));
  }

  void append_up(int level, bool has_next) {
    for (int i = 0; i <= parameters_.blocks; ++i) {
      list_.push_back(join_entry(&ListedLayer::concat, {"previous", skips_.back().name}));
      channels_ += skips_.back().channels;
      skips_.pop_back();
      append_block(fmt::format("up{}_{}", level, i), level);
    }
    if (!has_next) return;
    ListedLayer larger;
    larger.upsample = ListedFactor{2};
    list_.push_back(larger);
    list_.push_back(named(fmt::format("up{}_conv", level), conv_entry({.out = channels_, .kernel = kernel})));
    side_ *= 2;
  }

  const DiffusionUnetHyperparameters& parameters_;
  List list_;
  std::vector<Skip> skips_;
  int side_ = 0;      ///< of the map that the next block reads
  int channels_ = 0;  ///< of this map
  int embedded_ = 0;  ///< features of the embedding of the time
};

}  // namespace

std::vector<Layer> diffusion_unet_layers(const DiffusionUnetHyperparameters& parameters) {
  std::vector<Layer> layers = layers_of_family(UnetList(parameters).build());
  for (Layer& layer : layers) {
    const bool is_of_text = layer.name.ends_with(".keys");  // and of its values
    if (!is_of_text && !layer.name.ends_with(".qkv")) continue;
    const int count = is_of_text ? 2 : 3;
    layer.projections.assign(count, layer.out_shape.back() / count);
  }
  return layers;
}

}  // namespace trainyard
