#pragma once
// The layers of a mixture of experts, which stands in place of a block's feed-forward half: every token
// passes through the few experts that a router chooses. strategy/experts.hpp divides experts among ranks.

#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct ExpertSize {
  int experts = 0;
  int per_token = 0;         ///< experts that each token passes through (top-k)
  int features = 0;          ///< between the two linear layers of an expert
  int shared_features = 0;   ///< of the experts that every token passes through; 0: none
  bool shared_gate = false;  ///< scales their output for each token (Qwen 2 MoE)
  bool router_bias = false;  ///< of the router's product (gpt-oss)
  bool router_correction =
      false;  ///< a value per expert, added for the choice of experts alone (DeepSeek-V3)
};

/// One linear layer in every expert, on the rows that the router sends to each: one grouped product.
/// `size.rows`: rows of all experts together. FLOPs are those of these rows; the traffic and the parameters
/// are those of all experts. The product has `experts` batches of equally many rows, rounded up. Keeps its
/// input.
Layer expert_linear_layer(std::string name, LinearSize size, int experts, bool has_bias);

/// Copies every token once for each of its experts, in the order of the experts: reads each token once,
/// writes `per_token` copies; backward adds their gradients up. Keeps the 4-byte row of each copy.
Layer permute_layer(std::string name, int tokens, int features, int per_token);

/// Adds up the outputs of each token's experts, in the order of the tokens: reads `per_token` rows, writes
/// one. Backward copies the gradient. Keeps nothing: the weights of the sum multiply the experts'
/// activations. Source: NVIDIA/Megatron-LM megatron/core/transformer/moe/token_dispatcher.py (commit
/// 0014f137), token_permutation, which gives the permuted probabilities to the experts.
Layer unpermute_layer(std::string name, int tokens, int features, int per_token);

/// "prefix.moe.shared.fc1" to "fc2" if there are shared experts, with "gate", "sigmoid" and "scale" if these
/// have a gate; "prefix.moe.router" and "prefix.moe.topk", which score the experts of every token;
/// "prefix.moe.permute"; "prefix.moe.fc1", the activation and "prefix.moe.fc2" of the experts;
/// "prefix.moe.unpermute"; the sum with the shared experts. The residual sum is the caller's.
void append_experts(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                    const ExpertSize& experts, const BlockParts& parts = {});

}  // namespace trainyard
