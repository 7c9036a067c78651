#pragma once
// Transformer decoders that predict each next token, from their hyper-parameters: the families of GPT and
// Llama, mixtures of experts like Mixtral, and those with parts of their own: Gemma, DeepSeek, gpt-oss.
// gpt2.hpp is a setting of it.

#include "config/keys.hpp"
#include "workload/latent_attention.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

enum class DecoderNorm { layer_norm, rms_norm, plain_layer_norm };
enum class DecoderPosition { learned, rope, alibi, none };

/// The function between the linear layers of a feed-forward half; with `gated` of the gate.
enum class DecoderActivation { gelu, relu, silu, clipped_silu };

/// Places of the norms of a half of a block, attention or feed-forward: of its input, of its output, of both,
/// or of the residual sum that ends it.
enum class NormPlace { before, output, both, after };

/// Whether the halves of a block follow each other, or both read the block's input, behind one norm or one
/// norm each.
enum class BlockHalves { sequential, parallel_one_norm, parallel_two_norms };

struct DecoderHyperparameters {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  std::optional<int> kv_heads;                       ///< default: heads
  std::optional<int> head_dim;                       ///< default: hidden / heads
  std::optional<int> ffn;                            ///< default: 4 hidden
  bool gated = false;                                ///< up and gate in one linear layer of 2 ffn columns
  std::optional<DecoderActivation> activation = {};  ///< default: silu if gated, otherwise gelu
  DecoderNorm norm = DecoderNorm::layer_norm;
  NormPlace norm_place = NormPlace::before;
  BlockHalves halves = BlockHalves::sequential;
  bool bias = true;                      ///< of linear layers and layer norms
  std::optional<bool> qkv_bias = {};     ///< default: bias; of latent attention those of the first products
  std::optional<bool> output_bias = {};  ///< of attention's last projection; default: bias
  std::optional<bool> mlp_bias = {};     ///< of feed-forward halves and experts; default: bias
  std::optional<bool> norm_bias = {};    ///< of layer norms; default: bias
  bool head_bias = false;                ///< of the model's last projection
  DecoderPosition position = DecoderPosition::learned;
  std::optional<int> rope_features = {};  ///< features of a head that are rotated; default: all
  bool embedding_norm = false;            ///< a norm after the embedding (BLOOM)
  bool final_norm = true;                 ///< a norm before the last projection
  int vocabulary = 0;
  std::optional<int> pad_vocabulary;       ///< default: not padded
  std::optional<int> positions;            ///< default: sequence_length
  std::optional<int> embedding_size = {};  ///< features of the word embedding; default: hidden
  int sequence_length = 0;
  bool tied = true;  ///< the last projection multiplies by the word embedding
  bool dropout = true;
  std::optional<bool> attention_dropout = {};  ///< of the attention probabilities; default: dropout
  AttentionKernel attention = AttentionKernel::unfused;
  bool causal = true;                            ///< a flash kernel skips the masked half
  bool joined_projections = false;               ///< no framework computes those of attention one by one
  std::optional<int> sliding_window = {};        ///< tokens that a token attends to, its own included
  std::optional<int> full_attention_every = {};  ///< every n-th block has no window; default: none
  std::vector<int> full_attention_blocks = {};   ///< further blocks without a window, from 0
  std::optional<LatentAttention> latent_attention = {};  ///< in place of heads of keys and values (DeepSeek)
  QkNorm qk_norm = QkNorm::none;
  bool qk_norm_bias = false;                  ///< of layer norms (Phi)
  bool attention_cap = false;                 ///< scores are capped by tanh (Gemma 2)
  bool logit_cap = false;                     ///< so are the outputs of the last projection
  bool attention_sinks = false;               ///< a logit per head takes part in the softmax (gpt-oss)
  std::optional<int> experts = {};            ///< of a block with experts; none: every block is dense
  std::optional<int> experts_per_token = {};  ///< required with experts
  std::optional<int> expert_ffn = {};         ///< default: ffn
  std::optional<int> shared_expert_ffn = {};  ///< of the experts of all tokens; none: there are none
  bool shared_expert_gate = false;            ///< scales the output of these for each token
  bool router_bias = false;
  bool router_correction = false;              ///< a value per expert for the choice of experts (DeepSeek-V3)
  std::optional<int> first_dense_layers = {};  ///< blocks without experts at the beginning; default: 0
  std::optional<int> moe_every = {};           ///< only every n-th block has experts; default: 1
  std::vector<int> dense_blocks = {};          ///< further blocks without experts, from 0
  int mtp_layers = 0;  ///< blocks after the last one, of which each predicts a further token (DeepSeek-V3)
};

/// Whether block `number`, from 0, has experts.
bool has_experts(const DecoderHyperparameters& parameters, int number);

/// Whether the tokens of block `number`, from 0, attend to those of a window only.
bool has_window(const DecoderHyperparameters& parameters, int number);

/// The layers in forward order, ending in the loss. Unfused attention computes all scores, also those masked
/// or outside a window. ALiBi adds to the scores before the softmax: counted as free, fused with it. A cap of
/// the scores is free in a flash kernel; that of the logits is a kernel of its own. Halves in parallel add
/// their outputs to the residual one after the other, and tensor groups sum each of them. A block that
/// predicts a further token stands before the last norm: norms of the block's input and of the embedding,
/// which is the next token's, their concatenation, a product of 2 hidden to hidden, a block like the last
/// one, a norm, the model's last projection once more and a loss; the second lookup of embeddings is not
/// counted. Source: NVIDIA/Megatron-LM b0cc2706, megatron/core/transformer/multi_token_prediction.py. The
/// heads must divide hidden unless head_dim is given, and kv_heads the heads.
std::vector<Layer> decoder_layers(const DecoderHyperparameters& parameters);

namespace config {

template <>
struct Names<DecoderNorm> {
  static constexpr std::string_view what = "norm";
  static constexpr std::array table{
      Name{"layer_norm", DecoderNorm::layer_norm, "layer normalisation"},
      Name{"rms_norm", DecoderNorm::rms_norm, "normalisation by the root mean square"},
      Name{"plain_layer_norm", DecoderNorm::plain_layer_norm,
           "layer normalisation without scale and bias (OLMo)"}};
};

template <>
struct Names<DecoderActivation> {
  static constexpr std::string_view what = "activation";
  static constexpr std::array table{
      Name{"gelu", DecoderActivation::gelu, "x times the normal distribution function, or a formula near it"},
      Name{"relu", DecoderActivation::relu, "the larger of x and 0"},
      Name{"relu2", DecoderActivation::relu, "its square: one kernel of as many bytes"},
      Name{"silu", DecoderActivation::silu, "x times its sigmoid"},
      Name{"clipped_silu", DecoderActivation::clipped_silu, "the same of limited values (gpt-oss)"}};
};

template <>
struct Names<NormPlace> {
  static constexpr std::string_view what = "place of norms";
  static constexpr std::array table{
      Name{"before", NormPlace::before, "input of attention and of the feed-forward half"},
      Name{"output", NormPlace::output, "their outputs, before the residual sums (OLMo 2)"},
      Name{"both", NormPlace::both, "inputs and outputs: four norms a block (Gemma 2)"},
      Name{"after", NormPlace::after, "residual sums (post-norm)"}};
};

template <>
struct Names<BlockHalves> {
  static constexpr std::string_view what = "order of a block's halves";
  static constexpr std::array table{
      Name{"sequential", BlockHalves::sequential, "attention, then the feed-forward half"},
      Name{"parallel_one_norm", BlockHalves::parallel_one_norm,
           "both read the block's input behind one norm (GPT-J, Falcon-7B)"},
      Name{"parallel_two_norms", BlockHalves::parallel_two_norms,
           "both read the block's input, each behind a norm of its own (GPT-NeoX)"}};
};

template <>
struct Names<QkNorm> {
  static constexpr std::string_view what = "norm of queries and keys";
  static constexpr std::array table{
      Name{"none", QkNorm::none, "there is none"},
      Name{"heads", QkNorm::heads, "of each head, with one scale for all heads (Qwen 3, Gemma 3)"},
      Name{"own_heads", QkNorm::own_heads, "of each head, with a scale for each of them (Cohere)"},
      Name{"whole", QkNorm::whole, "of the features of all heads together (OLMo 2)"},
      Name{"true", QkNorm::heads, ""},
      Name{"false", QkNorm::none, ""}};
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
        optional("gated", &D::gated,
                 "true: the feed-forward half has a gate as wide as ffn: SwiGLU, or GEGLU with activation: "
                 "gelu"),
        optional("activation", &D::activation,
                 "function of the feed-forward half, or of its gate; default: silu if gated, otherwise gelu"),
        optional("norm", &D::norm, "norm of the blocks and before the last projection"),
        optional("norm_place", &D::norm_place, "place of the norms of a block"),
        optional("halves", &D::halves, "order of attention and feed-forward half in a block"),
        optional("bias", &D::bias,
                 "true: linear layers and layer norms have biases, but for the last projection"),
        optional("qkv_bias", &D::qkv_bias,
                 "the same of the projections to queries, keys and values; default: bias"),
        optional("output_bias", &D::output_bias, "the same of the projection after attention; default: bias"),
        optional("mlp_bias", &D::mlp_bias, "the same of feed-forward halves and experts; default: bias"),
        optional("norm_bias", &D::norm_bias, "the same of layer norms; default: bias"),
        optional("head_bias", &D::head_bias, "the same of the model's last projection"),
        optional("position", &D::position, "position encoding"),
        optional("rope_features", &D::rope_features,
                 "features of a head that rope rotates; default: all of them")
            .at_least(1)
            .at_most(1e5),
        optional("embedding_norm", &D::embedding_norm, "true: a norm follows the embedding"),
        optional("final_norm", &D::final_norm, "true: a norm precedes the last projection"),
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
        optional(
            "embedding_size", &D::embedding_size,
            "features of the word embedding; others than hidden need a projection at both ends; default: "
            "hidden")
            .at_least(1)
            .at_most(1e6),
        required("sequence_length", &D::sequence_length, "tokens per sample").at_least(1).at_most(1e7),
        optional("tied", &D::tied, "true: the last projection multiplies by the word embedding"),
        optional("dropout", &D::dropout,
                 "true: dropout after the embedding, of the attention probabilities and before the residual "
                 "sums"),
        optional("attention_dropout", &D::attention_dropout,
                 "the same of the attention probabilities alone; default: dropout"),
        optional("attention", &D::attention, "kernels of the attention"),
        optional("joined_projections", &D::joined_projections,
                 "true: queries, keys and values come from one tensor in every framework (GPT-2, Falcon); "
                 "false: some compute them one by one"),
        optional("qk_norm", &D::qk_norm,
                 "norm of queries and keys before they are rotated, of the same kind as the others; the sum "
                 "of gradients of scales that all ranks have, and that of values over "
                 "ranks that divide the heads, is not simulated"),
        optional("qk_norm_bias", &D::qk_norm_bias, "true: these norms have a bias, as layer norms may"),
        optional("latent_attention", &D::latent_attention,
                 "multi-head latent attention (DeepSeek), in place of kv_heads and head_dim; default: none"),
        optional("sliding_window", &D::sliding_window,
                 "tokens to which a token attends, its own included; a flash kernel computes their scores "
                 "only; default: all before it")
            .at_least(1)
            .at_most(1e7),
        optional("full_attention_every", &D::full_attention_every,
                 "with sliding_window: every n-th block attends to all tokens, beginning with block n; "
                 "default: none does")
            .at_least(1)
            .at_most(10'000),
        optional("full_attention_blocks", &D::full_attention_blocks,
                 "with sliding_window: numbers of further blocks, from 0, that attend to all tokens")
            .at_least(0)
            .at_most(10'000),
        optional("attention_cap", &D::attention_cap,
                 "true: a tanh limits the scores (Gemma 2); free in a flash kernel"),
        optional("logit_cap", &D::logit_cap, "true: a tanh limits the outputs of the last projection"),
        optional("attention_sinks", &D::attention_sinks,
                 "true: the softmax of each head has one more logit, a parameter (gpt-oss)"),
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
        optional(
            "shared_expert_gate", &D::shared_expert_gate,
            "true: a product with one column and a sigmoid scale the shared experts' output (Qwen 2 MoE)"),
        optional("router_bias", &D::router_bias, "true: the router has a bias (gpt-oss)"),
        optional("router_correction", &D::router_correction,
                 "true: the router has a value per expert for the choice alone (DeepSeek-V3)"),
        optional("first_dense_layers", &D::first_dense_layers,
                 "blocks at the beginning that have no experts; default: 0")
            .at_least(0)
            .at_most(10'000),
        optional("moe_every", &D::moe_every,
                 "only every n-th block has experts, beginning with block n; default: 1")
            .at_least(1)
            .at_most(10'000),
        optional("mtp_layers", &D::mtp_layers,
                 "further blocks after the last one, of which each predicts a further token, with a loss of "
                 "its own (multi-token prediction, DeepSeek-V3; Megatron-LM's --mtp-num-layers); they count "
                 "as blocks in parallelism.stages")
            .at_least(0)
            .at_most(10),
        optional("dense_blocks", &D::dense_blocks, "numbers of further blocks, from 0, without experts")
            .at_least(0)
            .at_most(10'000));
  }
};

}  // namespace config
}  // namespace trainyard
