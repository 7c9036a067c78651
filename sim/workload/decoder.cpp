#include "workload/decoder.hpp"

#include "workload/expert_layers.hpp"

#include <string>
#include <utility>

namespace trainyard {
namespace {

TransformerSize size_of_block(const DecoderHyperparameters& parameters) {
  return {.sequence = parameters.sequence_length,
          .hidden = parameters.hidden,
          .heads = parameters.heads,
          .intermediate = parameters.ffn.value_or(4 * parameters.hidden),
          .kv_heads = parameters.kv_heads,
          .head_dim = parameters.head_dim};
}

BlockParts parts_of_block(const DecoderHyperparameters& parameters) {
  return {.bias = parameters.bias,
          .dropout = parameters.dropout,
          .rope = parameters.position == DecoderPosition::rope,
          .activation = parameters.gated ? Activation::silu_product : Activation::gelu,
          .attention = parameters.attention,
          .causal = parameters.causal,
          .norm_heads = parameters.qk_norm,
          .joined_projections = parameters.joined_projections};
}

ExpertSize size_of_experts(const DecoderHyperparameters& parameters) {
  return {.experts = parameters.experts.value_or(0),
          .per_token = parameters.experts_per_token.value_or(0),
          .features = parameters.expert_ffn.value_or(parameters.ffn.value_or(4 * parameters.hidden)),
          .shared_features = parameters.shared_expert_ffn.value_or(0)};
}

void append_norm(std::vector<Layer>& layers, std::string name, const DecoderHyperparameters& parameters) {
  const int tokens = parameters.sequence_length;
  layers.push_back(parameters.norm == DecoderNorm::rms_norm
                       ? rms_norm_layer(std::move(name), tokens, parameters.hidden)
                       : layer_norm_layer(std::move(name), tokens, parameters.hidden, parameters.bias));
  layers.back().split = TensorSplit::tokens;
}

void append_embedding(std::vector<Layer>& layers, const DecoderHyperparameters& parameters, int entries) {
  const int tokens = parameters.sequence_length;
  layers.push_back(embedding_layer("wte", {tokens, entries, parameters.hidden}));
  if (parameters.position == DecoderPosition::learned) {
    layers.push_back(
        added_embedding_layer("wpe", {tokens, parameters.positions.value_or(tokens), parameters.hidden}));
    layers.back().of_positions = true;
  }
  if (parameters.embedding_norm) append_norm(layers, "ln_emb", parameters);
  if (!parameters.dropout) return;
  layers.push_back(dropout_layer("drop", {tokens, parameters.hidden}));
  layers.back().split = TensorSplit::tokens;
}

Layer last_projection(const DecoderHyperparameters& parameters, int entries) {
  const LinearSize size{parameters.sequence_length, parameters.hidden, entries};
  if (parameters.tied) return tied_linear_layer("lm_head", size, false);
  Layer layer = linear_layer("lm_head", size, false);
  layer.split = TensorSplit::columns;
  return layer;
}

}  // namespace

bool has_experts(const DecoderHyperparameters& parameters, int number) {
  return parameters.experts && number >= parameters.first_dense_layers.value_or(0) &&
         (number + 1) % parameters.moe_every.value_or(1) == 0;
}

std::vector<Layer> decoder_layers(const DecoderHyperparameters& parameters) {
  const int entries = padded_vocabulary(parameters.vocabulary, parameters.pad_vocabulary);
  const TransformerSize size = size_of_block(parameters);
  const BlockParts parts = parts_of_block(parameters);
  const LinearSize qkv{size.sequence, size.hidden, qkv_columns(size)};
  std::vector<Layer> layers;
  append_embedding(layers, parameters, entries);
  for (int i = 0; i < parameters.layers; ++i) {
    const std::string prefix = "h" + std::to_string(i);
    const std::size_t first = layers.size();
    append_norm(layers, prefix + ".ln1", parameters);
    set_shares_input(layers.back());  // with the residual sum
    append_attention(layers, prefix, size, linear_layer(prefix + ".attn.qkv", qkv, parts.bias), parts);
    append_norm(layers, prefix + ".ln2", parameters);
    set_shares_input(layers.back());
    if (has_experts(parameters, i))
      append_experts(layers, prefix, size, size_of_experts(parameters), parts);
    else
      append_feed_forward(layers, prefix, size, parts);
    set_block(layers, first, i);
  }
  append_norm(layers, "ln_f", parameters);
  layers.push_back(last_projection(parameters, entries));
  layers.push_back(softmax_cross_entropy_layer("loss", size.sequence, entries));
  layers.back().predicts_next_token = true;
  return layers;
}

}  // namespace trainyard
