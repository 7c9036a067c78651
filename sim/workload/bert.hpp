#pragma once
// BERT (Devlin et al. 2018, arXiv 1810.04805) from its hyper-parameters: the encoder, and the heads of
// pre-training (the masked language model over the predicted tokens, next-sentence prediction) or that of
// fine-tuning for answers to questions.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The task that follows the encoder.
enum class BertHead { pretraining, masked_words, question_answering };

struct BertHyperparameters {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  std::optional<int> intermediate;  ///< default: four times hidden
  int vocabulary = 30522;
  std::optional<int> pad_vocabulary = {};  ///< default: not padded
  int positions = 512;
  int segments = 2;
  int sequence_length = 128;
  std::map<std::string, int> predictions;  ///< by sequence length
  BertHead head = BertHead::pretraining;
  AttentionKernel attention = AttentionKernel::unfused;
};

/// Predicted tokens per sequence: from `predictions` for its length, otherwise 15 % of the length, rounded up
/// (arXiv 1810.04805, section 3.1).
int predicted_tokens(const BertHyperparameters& parameters);

/// The layers in forward order, ending in the loss. The decoder multiplies by the word embedding, which is
/// counted only once, in the embedding layer. For answers to questions two outputs of every token ("qa") are
/// the scores of a beginning and an end there, each with a softmax over the tokens (section 4.2); the pooler,
/// which they do not need, is left out, as in huggingface/transformers' BertForQuestionAnswering. Heads must
/// divide hidden.
std::vector<Layer> bert_layers(const BertHyperparameters& parameters);

namespace config {

template <>
struct Names<BertHead> {
  static constexpr std::string_view what = "head";
  static constexpr std::array table{
      Name{"pretraining", BertHead::pretraining, "masked words and next sentence"},
      Name{"masked_words", BertHead::masked_words, "masked words, without a pooler (RoBERTa)"},
      Name{"question_answering", BertHead::question_answering, "first and last token of an answer (SQuAD)"}};
};

template <>
struct Keys<BertHyperparameters> {
  static auto table() {
    using B = BertHyperparameters;
    return keys(
        required("layers", &B::layers, "transformer blocks").at_least(1).at_most(10'000),
        required("hidden", &B::hidden, "features per token").at_least(1).at_most(1e6),
        required("heads", &B::heads, "attention heads; must divide hidden").at_least(1).at_most(1e6),
        optional("intermediate", &B::intermediate,
                 "features between the two linear layers of a block; default: 4 x hidden")
            .at_least(1)
            .at_most(1e7),
        optional("vocabulary", &B::vocabulary, "vocabulary size: entries of the word embedding")
            .at_least(1)
            .at_most(1e8),
        optional("pad_vocabulary", &B::pad_vocabulary,
                 "the vocabulary is padded to a multiple of this (Megatron-LM: 128 x tensor)")
            .at_least(1)
            .at_most(1e6),
        optional("positions", &B::positions, "longest sequence: entries of the position embedding")
            .at_least(1)
            .at_most(1e6),
        optional("segments", &B::segments,
                 "token types: entries of the token type embedding; 0: there is none")
            .at_least(0)
            .at_most(1e6),
        optional("sequence_length", &B::sequence_length, "tokens per sample").at_least(1).at_most(1e6),
        optional("predictions", &B::predictions,
                 "masked tokens predicted per sequence, by sequence length; default: 15 % of the length, "
                 "rounded up")
            .at_least(1)
            .at_most(1e6),
        optional("head", &B::head, "task that is trained"),
        optional("attention", &B::attention, "kernels of attention"));
  }
};

}  // namespace config
}  // namespace trainyard
