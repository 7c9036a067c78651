#include "workload/vit.hpp"

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
  layers.back().parameters.push_back({"class_token", static_cast<double>(parameters.hidden)});
  layers.back().of_positions = true;
  if (!parameters.dropout) return;
  layers.push_back(dropout_layer("drop", {tokens, parameters.hidden}));
  layers.back().split = TensorSplit::tokens;
}

}  // namespace

int vit_tokens(const VitHyperparameters& parameters) {
  const int side = parameters.image_size / parameters.patch;
  return side * side + 1;
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
    append_attention(layers, prefix, size,
                     linear_layer(prefix + ".attn.qkv", {size.sequence, hidden, 3 * hidden}), parts);
    append_token_norm(layers, prefix + ".ln2", size);
    set_shares_input(layers.back());
    append_feed_forward(layers, prefix, size, parts);
    set_block(layers, first, i);
  }
  append_token_norm(layers, "ln", size);
  layers.push_back(linear_layer("head", hidden, parameters.classes));
  layers.push_back(softmax_cross_entropy_layer("loss", parameters.classes));
  return layers;
}

}  // namespace trainyard
