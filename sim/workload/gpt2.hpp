#pragma once
// GPT-2 (Radford et al. 2019, Language Models are Unsupervised Multitask Learners) from its hyper-parameters:
// a setting of decoder.hpp.

#include "config/keys.hpp"
#include "workload/decoder.hpp"
#include "workload/layer.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct Gpt2Hyperparameters {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int vocabulary = 50257;
  std::optional<int> pad_vocabulary = {};  ///< default: not padded
  int positions = 1024;
  int sequence_length = 1024;
  AttentionKernel attention = AttentionKernel::unfused;
};

/// The layers in forward order, ending in the loss. Unfused attention is computed in full: the masked half is
/// not skipped. The last projection multiplies by the word embedding, which is counted only once, in the
/// embedding layer. Heads must divide hidden.
std::vector<Layer> gpt2_layers(const Gpt2Hyperparameters& parameters);

namespace config {

template <>
struct Keys<Gpt2Hyperparameters> {
  static auto table() {
    using G = Gpt2Hyperparameters;
    return keys(
        required("layers", &G::layers, "transformer blocks").at_least(1).at_most(10'000),
        required("hidden", &G::hidden, "features per token").at_least(1).at_most(1e6),
        required("heads", &G::heads, "attention heads; must divide hidden").at_least(1).at_most(1e6),
        optional("vocabulary", &G::vocabulary, "vocabulary size: entries of the word embedding")
            .at_least(1)
            .at_most(1e8),
        optional("pad_vocabulary", &G::pad_vocabulary,
                 "the vocabulary is padded to a multiple of this (Megatron-LM: 128 x tensor)")
            .at_least(1)
            .at_most(1e6),
        optional("positions", &G::positions, "longest sequence: entries of the position embedding")
            .at_least(1)
            .at_most(1e6),
        optional("sequence_length", &G::sequence_length, "tokens per sample").at_least(1).at_most(1e6),
        optional("attention", &G::attention, "kernels of the attention; flash skips the masked half"));
  }
};

}  // namespace config
}  // namespace trainyard
