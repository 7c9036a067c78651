#include "workload/decoder.hpp"

#include "workload/expert_layers.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace trainyard {
namespace {

using Decoder = DecoderHyperparameters;

bool is_in(const std::vector<int>& numbers, int number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

TransformerSize size_of_block(const Decoder& parameters) {
  const TransformerSize size{.sequence = parameters.sequence_length,
                             .hidden = parameters.hidden,
                             .heads = parameters.heads,
                             .intermediate = parameters.ffn.value_or(4 * parameters.hidden),
                             .kv_heads = parameters.kv_heads,
                             .head_dim = parameters.head_dim};
  return parameters.latent_attention ? with_heads_of(*parameters.latent_attention, size) : size;
}

Activation activation_of(const Decoder& parameters) {
  const bool is_gated = parameters.gated;
  const auto usual = is_gated ? DecoderActivation::silu : DecoderActivation::gelu;
  switch (parameters.activation.value_or(usual)) {
    case DecoderActivation::gelu:
      return is_gated ? Activation::gelu_product : Activation::gelu;
    case DecoderActivation::relu:
      return Activation::relu;
    case DecoderActivation::silu:
      return is_gated ? Activation::silu_product : Activation::silu;
    case DecoderActivation::clipped_silu:
      return Activation::clipped_silu_product;
  }
  return Activation::gelu;
}

LayerKind kind_of_norm(const Decoder& parameters) {
  return parameters.norm == DecoderNorm::rms_norm ? LayerKind::rms_norm : LayerKind::layer_norm;
}

BlockParts parts_of_block(const Decoder& parameters) {
  return {.bias = parameters.qkv_bias.value_or(parameters.bias),
          .dropout = parameters.dropout,
          .rope = parameters.position == DecoderPosition::rope,
          .activation = activation_of(parameters),
          .attention = parameters.attention,
          .causal = parameters.causal,
          .probability_dropout = parameters.attention_dropout,
          .qk_norm = parameters.qk_norm,
          .qk_norm_kind = kind_of_norm(parameters),
          .qk_norm_bias = parameters.qk_norm_bias,
          .output_bias = parameters.output_bias.value_or(parameters.bias),
          .mlp_bias = parameters.mlp_bias.value_or(parameters.bias),
          .rope_features = parameters.rope_features,
          .caps_scores = parameters.attention_cap,
          .sinks = parameters.attention_sinks,
          .joined_projections = parameters.joined_projections};
}

ExpertSize size_of_experts(const Decoder& parameters) {
  return {.experts = parameters.experts.value_or(0),
          .per_token = parameters.experts_per_token.value_or(0),
          .features = parameters.expert_ffn.value_or(parameters.ffn.value_or(4 * parameters.hidden)),
          .shared_features = parameters.shared_expert_ffn.value_or(0),
          .shared_gate = parameters.shared_expert_gate,
          .router_bias = parameters.router_bias,
          .router_correction = parameters.router_correction};
}

void append_norm(std::vector<Layer>& layers, std::string name, const Decoder& parameters) {
  const int tokens = parameters.sequence_length;
  layers.push_back(parameters.norm == DecoderNorm::rms_norm
                       ? rms_norm_layer(std::move(name), tokens, parameters.hidden)
                       : layer_norm_layer(std::move(name), tokens, parameters.hidden,
                                          parameters.norm_bias.value_or(parameters.bias)));
  if (parameters.norm == DecoderNorm::plain_layer_norm) layers.back().parameters.clear();
  layers.back().split = TensorSplit::tokens;
}

void append_embedding(std::vector<Layer>& layers, const Decoder& parameters, int entries) {
  const int tokens = parameters.sequence_length;
  const int features = parameters.embedding_size.value_or(parameters.hidden);
  layers.push_back(embedding_layer("wte", {tokens, entries, features}));
  if (features != parameters.hidden)
    layers.push_back(with_split(linear_layer("project_in", {tokens, features, parameters.hidden}, false),
                                TensorSplit::tokens));
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

/// The layers of the blocks of a decoder.
class Blocks {
public:
  Blocks(const Decoder& parameters, std::vector<Layer>& layers)
      : parameters_(parameters),
        size_(size_of_block(parameters)),
        parts_(parts_of_block(parameters)),
        layers_(layers) {}

  void append(int number) {
    const std::string prefix = "h" + std::to_string(number);
    const std::size_t first = layers_.size();
    const std::size_t second = append_half(prefix, "1", [&] { append_attention_of(prefix, number); });
    append_half(prefix, "2", [&] { append_rest_of(prefix, number); });
    // In front of the second half stands the residual sum, or the input of both halves.
    if (parameters_.halves == BlockHalves::sequential)
      set_shares_input(layers_[second]);
    else
      share_input(first, second);
    set_shares_input(layers_[first]);  // with the residual sum
    set_block(layers_, first, number);
  }

private:
  [[nodiscard]] bool has_norm_before(const std::string& half) const {
    if (half == "2" && parameters_.halves == BlockHalves::parallel_one_norm) return false;
    return parameters_.norm_place == NormPlace::before || parameters_.norm_place == NormPlace::both;
  }

  /// Returns the number of its first layer.
  template <class Append>
  std::size_t append_half(const std::string& prefix, const std::string& half, Append append) {
    const std::size_t first = layers_.size();
    const NormPlace place = parameters_.norm_place;
    if (has_norm_before(half)) append_norm(layers_, prefix + ".ln" + half, parameters_);
    append();
    if (place == NormPlace::output || place == NormPlace::both)
      append_norm(layers_, prefix + ".ln_out" + half, parameters_);
    append_residual(layers_, prefix, half, size_, parts_);
    if (place == NormPlace::after) append_norm(layers_, prefix + ".ln" + half, parameters_);
    return first;
  }

  void append_attention_of(const std::string& prefix, int number) {
    TransformerSize size = size_;
    if (has_window(parameters_, number)) size.window = parameters_.sliding_window;
    if (parameters_.latent_attention) {
      append_latent_attention(layers_, prefix, size, *parameters_.latent_attention, parts_);
      return;
    }
    const LinearSize qkv{size.sequence, size.hidden, qkv_columns(size)};
    append_self_attention(layers_, prefix, size, linear_layer(prefix + ".attn.qkv", qkv, parts_.bias),
                          parts_);
  }

  void append_rest_of(const std::string& prefix, int number) {
    if (has_experts(parameters_, number))
      append_experts(layers_, prefix, size_, size_of_experts(parameters_), parts_);
    else
      append_mlp(layers_, prefix + ".mlp", size_, size_.intermediate, parts_);
  }

  /// The second half reads the tensor that the first one has kept: the block's input, or its norm.
  void share_input(std::size_t first, std::size_t second) {
    const bool has_own_norm = parameters_.halves == BlockHalves::parallel_two_norms;
    set_shares_input(layers_[has_own_norm ? first : first + 1]);
    layers_[second].saved_elements = 0;
    layers_[second].continues_previous = false;
  }

  const Decoder& parameters_;
  TransformerSize size_;
  BlockParts parts_;
  std::vector<Layer>& layers_;
};

void append_last_projection(std::vector<Layer>& layers, const Decoder& parameters, int entries) {
  const int tokens = parameters.sequence_length;
  const int features = parameters.embedding_size.value_or(parameters.hidden);
  if (features != parameters.hidden)
    layers.push_back(with_split(linear_layer("project_out", {tokens, parameters.hidden, features}, false),
                                TensorSplit::tokens));
  const LinearSize size{tokens, features, entries};
  layers.push_back(parameters.tied ? tied_linear_layer("lm_head", size, parameters.head_bias)
                                   : with_split(linear_layer("lm_head", size, parameters.head_bias),
                                                TensorSplit::columns));
  if (parameters.logit_cap)
    layers.push_back(with_split(tanh_layer("cap", {tokens, entries}), TensorSplit::inner));
}

/// The model's last projection and the loss of a block that predicts a further token. The projection has no
/// weights of its own.
void append_further_loss(std::vector<Layer>& layers, const std::string& prefix, const Decoder& parameters,
                         int entries) {
  const LinearSize size{parameters.sequence_length, parameters.hidden, entries};
  layers.push_back(with_split(linear_layer(prefix + ".head", size, false), TensorSplit::columns));
  layers.back().parameters.clear();
  layers.push_back(softmax_cross_entropy_layer(prefix + ".loss", parameters.sequence_length, entries));
}

/// A block that predicts one token more than the one before it.
void append_further_token(std::vector<Layer>& layers, int number, const Decoder& parameters, int entries,
                          Blocks& blocks) {
  const std::string prefix = "mtp" + std::to_string(number);
  const int block = parameters.layers + number;
  const int tokens = parameters.sequence_length, features = parameters.hidden;
  const std::size_t first = layers.size();
  append_norm(layers, prefix + ".norm_embedding", parameters);
  append_norm(layers, prefix + ".norm_hidden", parameters);
  layers.push_back(with_split(concat_layer(prefix + ".concat", {tokens, 2 * features}), TensorSplit::tokens));
  layers.push_back(with_split(linear_layer(prefix + ".proj", {tokens, 2 * features, features}, false),
                              TensorSplit::tokens));
  set_block(layers, first, block);
  blocks.append(block);
  append_norm(layers, prefix + ".ln_f", parameters);
  append_further_loss(layers, prefix, parameters, entries);
}

}  // namespace

bool has_experts(const Decoder& parameters, int number) {
  return parameters.experts && number >= parameters.first_dense_layers.value_or(0) &&
         (number + 1) % parameters.moe_every.value_or(1) == 0 && !is_in(parameters.dense_blocks, number);
}

bool has_window(const Decoder& parameters, int number) {
  const bool is_full =
      parameters.full_attention_every && (number + 1) % *parameters.full_attention_every == 0;
  return parameters.sliding_window && !is_full && !is_in(parameters.full_attention_blocks, number);
}

std::vector<Layer> decoder_layers(const Decoder& parameters) {
  const int entries = padded_vocabulary(parameters.vocabulary, parameters.pad_vocabulary);
  std::vector<Layer> layers;
  append_embedding(layers, parameters, entries);
  Blocks blocks(parameters, layers);
  for (int i = 0; i < parameters.layers; ++i) blocks.append(i);
  for (int i = 0; i < parameters.mtp_layers; ++i)
    append_further_token(layers, i, parameters, entries, blocks);
  if (parameters.final_norm) append_norm(layers, "ln_f", parameters);
  append_last_projection(layers, parameters, entries);
  layers.push_back(softmax_cross_entropy_layer("loss", parameters.sequence_length, entries));
  layers.back().predicts_next_token = true;
  return layers;
}

}  // namespace trainyard
