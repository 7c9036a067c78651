#include "workload/gpt2.hpp"

#include "workload/transformer_layers.hpp"

#include <string>

namespace trainyard {

std::vector<Layer> gpt2_layers(const Gpt2Hyperparameters& parameters) {
  const int tokens = parameters.sequence_length;
  const int hidden = parameters.hidden;
  const TransformerSize size{tokens, hidden, parameters.heads, 4 * hidden};
  std::vector<Layer> layers;
  layers.push_back(embedding_layer("wte", {tokens, parameters.vocabulary, hidden}));
  layers.push_back(added_embedding_layer("wpe", {tokens, parameters.positions, hidden}));
  layers.push_back(dropout_layer("drop", {tokens, hidden}));
  for (int i = 0; i < parameters.layers; ++i) {
    const std::string prefix = "h" + std::to_string(i);
    layers.push_back(layer_norm_layer(prefix + ".ln1", tokens, hidden));
    append_attention(layers, prefix, size, linear_layer(prefix + ".attn.qkv", {tokens, hidden, 3 * hidden}));
    layers.push_back(layer_norm_layer(prefix + ".ln2", tokens, hidden));
    append_feed_forward(layers, prefix, size);
  }
  layers.push_back(layer_norm_layer("ln_f", tokens, hidden));
  layers.push_back(tied_linear_layer("lm_head", {tokens, hidden, parameters.vocabulary}, false));
  layers.push_back(softmax_cross_entropy_layer("loss", tokens, parameters.vocabulary));
  return layers;
}

}  // namespace trainyard
