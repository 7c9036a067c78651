#pragma once
// Transformers with an encoder and a decoder, from their hyper-parameters: T5, and the original Transformer
// (Vaswani et al. 2017, arXiv 1706.03762). The encoder reads a text, the
// decoder predicts each next token of another one and attends to the encoder's output in every block.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

/// `t5`: RMS norms before each part of a block and at the end of both halves, no biases, a bias of the scores
/// by relative position. `transformer`: layer norms after each part, biases, fixed sinusoids added to the
/// embeddings.
enum class EncoderDecoderStyle { t5, transformer };

struct EncoderDecoderHyperparameters {
  EncoderDecoderStyle style = EncoderDecoderStyle::t5;
  int layers = 0;                          ///< blocks of the encoder
  std::optional<int> decoder_layers = {};  ///< blocks of the decoder; default: layers
  int hidden = 0;
  int heads = 0;
  std::optional<int> head_dim = {};          ///< default: hidden / heads
  std::optional<int> ffn = {};               ///< default: 4 hidden
  bool gated = false;                        ///< GEGLU (T5 v1.1) in place of ReLU
  std::optional<int> position_buckets = {};  ///< of T5's relative position bias; default: 32
  int vocabulary = 0;
  std::optional<int> pad_vocabulary = {};           ///< default: not padded
  int sequence_length = 0;                          ///< tokens of a sample that the encoder reads
  std::optional<int> decoder_sequence_length = {};  ///< tokens that the decoder predicts; default: as many
  bool tied = true;  ///< the last projection multiplies by the word embedding, which both halves share
  bool dropout = true;
  AttentionKernel attention = AttentionKernel::unfused;  ///< of T5 only that of the encoder's output
};

/// The layers in forward order: the encoder ("encoder.h0.ln1" ... "encoder.norm"), the decoder
/// ("decoder.h0.ln1"
/// ...), the last projection and the loss. RMS norms before each part of a block and at the end of both
/// halves, no biases; queries, keys and values of a block are one product with a tensor of parameters each.
/// The table of relative positions belongs to the first block of each half, and every block adds the bias to
/// its scores (not to those of the encoder's output). Masked scores are computed as well. Source:
/// huggingface/transformers src/transformers/models/t5/modeling_t5.py (names and shapes of parameters, places
/// of dropout). In the style `transformer` a norm ("encoder.h0.ln1") follows each residual sum, and both
/// halves end with a block. Sinusoids cost an addition per value; their table is shared by all samples and
/// not counted. Dropout is of the sums of embeddings and of each part's output (section 5.4) only. Source:
/// Vaswani et al. 2017, arXiv 1706.03762, section 3; facebookresearch/fairseq
/// fairseq/models/transformer (parameters of transformer_wmt_en_de). heads must divide hidden unless head_dim
/// is given.
std::vector<Layer> encoder_decoder_layers(const EncoderDecoderHyperparameters& parameters);

namespace config {

template <>
struct Names<EncoderDecoderStyle> {
  static constexpr std::string_view what = "style";
  static constexpr std::array table{
      Name{"t5", EncoderDecoderStyle::t5,
           "RMS norms before the parts of a block, no biases, relative positions"},
      Name{"transformer", EncoderDecoderStyle::transformer,
           "layer norms after the parts of a block, biases, sinusoids as positions"}};
};

template <>
struct Keys<EncoderDecoderHyperparameters> {
  static auto table() {
    using E = EncoderDecoderHyperparameters;
    return keys(
        optional("style", &E::style, "norms, biases and positions"),
        required("layers", &E::layers, "transformer blocks of the encoder").at_least(1).at_most(10'000),
        optional("decoder_layers", &E::decoder_layers, "transformer blocks of the decoder; default: layers")
            .at_least(1)
            .at_most(10'000),
        required("hidden", &E::hidden, "features per token").at_least(1).at_most(1e6),
        required("heads", &E::heads, "attention heads; must divide hidden unless head_dim is given")
            .at_least(1)
            .at_most(1e6),
        optional("head_dim", &E::head_dim, "features of a head; default: hidden / heads")
            .at_least(1)
            .at_most(1e5),
        optional("ffn", &E::ffn, "features between the two linear layers of a block; default: 4 x hidden")
            .at_least(1)
            .at_most(1e7),
        optional("gated", &E::gated,
                 "true: GEGLU, the feed-forward half has a gate as wide as ffn; false: ReLU"),
        optional(
            "position_buckets", &E::position_buckets,
            "buckets of distances, each with a bias of the attention scores per head; of T5; default: 32")
            .at_least(1)
            .at_most(1e6),
        required("vocabulary", &E::vocabulary, "vocabulary size: entries of the word embedding")
            .at_least(1)
            .at_most(1e8),
        optional("pad_vocabulary", &E::pad_vocabulary,
                 "the vocabulary is padded to a multiple of this (Megatron-LM: 128 x tensor)")
            .at_least(1)
            .at_most(1e6),
        required("sequence_length", &E::sequence_length, "tokens per sample that the encoder reads")
            .at_least(1)
            .at_most(1e7),
        optional("decoder_sequence_length", &E::decoder_sequence_length,
                 "tokens per sample that the decoder predicts; default: sequence_length")
            .at_least(1)
            .at_most(1e7),
        optional("attention", &E::attention,
                 "kernels of the attention; T5 has flash only for that of the encoder's output"),
        optional("tied", &E::tied, "true: the last projection multiplies by the word embedding"),
        optional(
            "dropout", &E::dropout,
            "true: dropout after the embeddings and before the residual sums; in the style t5 also "
            "after the last norms, of the attention probabilities and between the linear layers of a block"));
  }
};

}  // namespace config
}  // namespace trainyard
