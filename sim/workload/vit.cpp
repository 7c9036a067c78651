#include "workload/vit.hpp"

#include "workload/vision_layers.hpp"

#include <string>
#include <utility>

namespace trainyard {
namespace {

void append_token_norm(std::vector<Layer>& layers, std::string name, const TransformerSize& size) {
  layers.push_back(layer_norm_layer(std::move(name), size.sequence, size.hidden));
  layers.back().split = TensorSplit::tokens;
}

void append_patches(std::vector<Layer>& layers, const VitHyperparameters& parameters, int tokens) {
  layers.push_back(conv_layer("conv_proj", {3, parameters.image_size, parameters.image_size},
                              {parameters.hidden, parameters.patch, parameters.patch, 0, true}));
  set_reads_data(layers.back());
  layers.push_back(added_embedding_layer("pos_embedding", {tokens, tokens, parameters.hidden}));
  const auto features = static_cast<double>(parameters.hidden);
  layers.back().parameters.push_back({"class_token", features});
  if (parameters.distilled) layers.back().parameters.push_back({"distillation_token", features});
  if (parameters.mask_token) layers.back().parameters.push_back({"mask_token", features});
  layers.back().of_positions = true;
  if (!parameters.dropout) return;
  layers.push_back(dropout_layer("drop", {tokens, parameters.hidden}));
  layers.back().split = TensorSplit::tokens;
}

/// The end of a half of a block.
void append_half(std::vector<Layer>& layers, const std::string& prefix, const std::string& number,
                 const TransformerSize& size, const VitHyperparameters& parameters, const BlockParts& parts) {
  if (parameters.layer_scale)
    layers.push_back(with_split(layer_scale_layer(prefix + ".ls" + number, {size.sequence, size.hidden}),
                                TensorSplit::tokens));
  append_residual(layers, prefix, number, size, parts);
}

void append_classes(std::vector<Layer>& layers, const std::string& suffix, int features, int classes) {
  layers.push_back(linear_layer("head" + suffix, features, classes));
  layers.push_back(softmax_cross_entropy_layer("loss" + suffix, classes));
}

}  // namespace

int vit_tokens(const VitHyperparameters& parameters) {
  const int side = parameters.image_size / parameters.patch;
  return side * side + (parameters.distilled ? 2 : 1);
}

std::vector<Layer> vit_layers(const VitHyperparameters& parameters) {
  const int hidden = parameters.hidden;
  const TransformerSize size{.sequence = vit_tokens(parameters),
                             .hidden = hidden,
                             .heads = parameters.heads,
                             .intermediate = parameters.ffn.value_or(4 * hidden)};
  const BlockParts parts{
      .dropout = parameters.dropout, .attention = parameters.attention, .joined_projections = true};
  std::vector<Layer> layers;
  append_patches(layers, parameters, size.sequence);
  for (int i = 0; i < parameters.layers; ++i) {
    const std::string prefix = "layer" + std::to_string(i);
    const std::size_t first = layers.size();
    append_token_norm(layers, prefix + ".ln1", size);
    set_shares_input(layers.back());  // with the residual sum
    append_self_attention(layers, prefix, size,
                          linear_layer(prefix + ".attn.qkv", {size.sequence, hidden, 3 * hidden}), parts);
    append_half(layers, prefix, "1", size, parameters, parts);
    append_token_norm(layers, prefix + ".ln2", size);
    set_shares_input(layers.back());
    append_mlp(layers, prefix + ".mlp", size, size.intermediate, parts);
    append_half(layers, prefix, "2", size, parameters, parts);
    set_block(layers, first, i);
  }
  append_token_norm(layers, "ln", size);
  append_classes(layers, "", (parameters.mean_head ? 2 : 1) * hidden, parameters.classes);
  if (parameters.distilled) append_classes(layers, "_dist", hidden, parameters.classes);
  return layers;
}

}  // namespace trainyard
