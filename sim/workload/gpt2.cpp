#include "workload/gpt2.hpp"

#include "workload/decoder.hpp"

namespace trainyard {

std::vector<Layer> gpt2_layers(const Gpt2Hyperparameters& parameters) {
  return decoder_layers({.layers = parameters.layers,
                         .hidden = parameters.hidden,
                         .heads = parameters.heads,
                         .kv_heads = {},
                         .head_dim = {},
                         .ffn = {},
                         .vocabulary = parameters.vocabulary,
                         .pad_vocabulary = parameters.pad_vocabulary,
                         .positions = parameters.positions,
                         .sequence_length = parameters.sequence_length,
                         .causal = false});
}

}  // namespace trainyard
