#include "workload/gpt2.hpp"

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
                         .attention = parameters.attention,
                         .causal = parameters.attention == AttentionKernel::flash,
                         .joined_projections = true});
}

}  // namespace trainyard
