#pragma once
// Transformer decoders that predict each next token, from their hyper-parameters: the families of GPT and
// Llama, and mixtures of experts like Mixtral. gpt2.hpp is a setting of it.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

enum class DecoderNorm { layer_norm, rms_norm };
enum class DecoderPosition { learned, rope, alibi, none };

struct DecoderHyperparameters {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  std::optional<int> kv_heads;  ///< default: heads
  std::optional<int> head_dim;  ///< default: hidden / heads
  std::optional<int> ffn;       ///< default: 4 hidden
  bool gated = false;           ///< SwiGLU: up and gate in one linear layer of 2 ffn columns
  DecoderNorm norm = DecoderNorm::layer_norm;
  bool bias = true;  ///< of linear layers and layer norms
  DecoderPosition position = DecoderPosition::learned;
  bool embedding_norm = false;  ///< a norm after the embedding (BLOOM)
  int vocabulary = 0;
  std::optional<int> pad_vocabulary;  ///< default: not padded
  std::optional<int> positions;       ///< default: sequence_length
  int sequence_length = 0;
  bool tied = true;  ///< the last projection multiplies by the word embedding
  bool dropout = true;
  AttentionKernel attention = AttentionKernel::unfused;
  bool causal = true;                          ///< a flash kernel skips the masked half
  bool joined_projections = false;             ///< no framework computes those of attention one by one
  bool qk_norm = false;                        ///< an RMS norm of each head of queries and keys
  std::optional<int> experts = {};             ///< of a block with experts; none: every block is dense
  std::optional<int> experts_per_token = {};   ///< required with experts
  std::optional<int> expert_ffn = {};          ///< default: ffn
  std::optional<int> shared_expert_ffn = {};   ///< of the experts of all tokens; none: there are none
  std::optional<int> first_dense_layers = {};  ///< blocks without experts at the beginning; default: 0
  std::optional<int> moe_every = {};           ///< only every n-th block has experts; default: 1
};

/// Whether block `number`, from 0, has experts.
bool has_experts(const DecoderHyperparameters& parameters, int number);

/// The layers in forward order, ending in the loss. Unfused attention computes the masked half as well. ALiBi
/// adds to the scores before the softmax: counted as free, fused with it. The heads must divide hidden unless
/// head_dim is given, and kv_heads the heads.
std::vector<Layer> decoder_layers(const DecoderHyperparameters& parameters);

namespace config {

template <>
struct Names<DecoderNorm> {
  static constexpr std::string_view what = "norm";
  static constexpr std::array table{
      Name{"layer_norm", DecoderNorm::layer_norm, "layer normalisation"},
      Name{"rms_norm", DecoderNorm::rms_norm, "normalisation by the root mean square"}};
};

template <>
struct Names<DecoderPosition> {
  static constexpr std::string_view what = "position encoding";
  static constexpr std::array table{
      Name{"learned", DecoderPosition::learned, "a table added to the word embedding"},
      Name{"rope", DecoderPosition::rope, "rotation of queries and keys"},
      Name{"alibi", DecoderPosition::alibi, "a bias of the attention scores by distance"},
      Name{"none", DecoderPosition::none, "no position encoding"}};
};

template <>
struct Keys<DecoderHyperparameters> {
  static auto table() {
    using D = DecoderHyperparameters;
    return keys(
        required("layers", &D::layers, "transformer blocks").at_least(1).at_most(10'000),
        required("hidden", &D::hidden, "features per token").at_least(1).at_most(1e6),
        required("heads", &D::heads, "attention heads; must divide hidden unless head_dim is given")
            .at_least(1)
            .at_most(1e6),
        optional("kv_heads", &D::kv_heads,
                 "heads of keys and values (grouped-query attention); must divide heads; default: heads")
            .at_least(1)
            .at_most(1e6),
        optional("head_dim", &D::head_dim, "features of a head; default: hidden / heads")
            .at_least(1)
            .at_most(1e5),
        optional("ffn", &D::ffn, "features between the two linear layers of a block; default: 4 x hidden")
            .at_least(1)
            .at_most(1e7),
        optional("gated", &D::gated, "true: SwiGLU, the feed-forward half has a gate as wide as ffn"),
        optional("norm", &D::norm, "norm of the blocks and before the last projection"),
        optional("bias", &D::bias,
                 "true: linear layers and layer norms have biases; the last projection never has one"),
        optional("position", &D::position, "position encoding"),
        optional("embedding_norm", &D::embedding_norm, "true: a norm follows the embedding"),
        required("vocabulary", &D::vocabulary, "vocabulary size: entries of the word embedding")
            .at_least(1)
            .at_most(1e8),
        optional("pad_vocabulary", &D::pad_vocabulary,
                 "the vocabulary is padded to a multiple of this (Megatron-LM: 128 x tensor)")
            .at_least(1)
            .at_most(1e6),
        optional("positions", &D::positions,
                 "longest sequence: entries of the learned position embedding; default: sequence_length")
            .at_least(1)
            .at_most(1e8),
        required("sequence_length", &D::sequence_length, "tokens per sample").at_least(1).at_most(1e7),
        optional("tied", &D::tied, "true: the last projection multiplies by the word embedding"),
        optional("dropout", &D::dropout,
                 "true: dropout after the embedding, of the attention probabilities and before the residual "
                 "sums"),
        optional("attention", &D::attention, "kernels of the attention"),
        optional("qk_norm", &D::qk_norm,
                 "true: an RMS norm of each head of queries and keys before they are rotated (Qwen 3); all "
                 "ranks have its two scales, and the sum of their gradients over ranks that divide the heads "
                 "is not simulated"),
        optional("causal", &D::causal,
                 "true: a flash kernel skips the masked half of the scores, half of the FLOPs; unfused "
                 "attention always computes it"),
        optional("experts", &D::experts,
                 "experts in place of the feed-forward half of a block (mixture of experts); default: none")
            .at_least(2)
            .at_most(1e5),
        optional("experts_per_token", &D::experts_per_token,
                 "experts that every token passes through (top-k)")
            .at_least(1)
            .at_most(1e5),
        optional("expert_ffn", &D::expert_ffn,
                 "features between the two linear layers of an expert; default: ffn")
            .at_least(1)
            .at_most(1e7),
        optional("shared_expert_ffn", &D::shared_expert_ffn,
                 "features of the shared experts, which every token passes through; default: none")
            .at_least(1)
            .at_most(1e7),
        optional("first_dense_layers", &D::first_dense_layers,
                 "blocks at the beginning that have no experts; default: 0")
            .at_least(0)
            .at_most(10'000),
        optional("moe_every", &D::moe_every,
                 "only every n-th block has experts, beginning with block n; default: 1")
            .at_least(1)
            .at_most(10'000));
  }
};

}  // namespace config
}  // namespace trainyard
