#pragma once
// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, arXiv 2405.04434, section 2.1): queries, and
// keys and values together, are projected to few features and from these to the heads.

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct LatentAttention {
  std::optional<int> query_rank = {};  ///< none: queries are projected at once
  int key_value_rank = 0;
  int plain_dim = 0;  ///< features of a head's queries and keys that are not rotated
  int rope_dim = 0;   ///< and those that are; all heads share those of the key
  int value_dim = 0;  ///< features of a head's values
};

/// The size of a block whose heads have these features.
TransformerSize with_heads_of(const LatentAttention& latent, TransformerSize size);

/// "prefix.attn.q_a", "q_norm", "q_b" (or "q" without a rank of the queries), "kv_a", "kv_norm", "kv_b",
/// "rope", "concat", the core and "prefix.attn.proj". The norms are RMS norms. `concat` copies the plain and
/// the rotated features of queries and keys into one tensor each. Ranks of a tensor group hold whole copies
/// of q_a and kv_a (with sequence parallelism they compute their own tokens, as Megatron-LM does) and divide
/// the heads; the rotated key that all heads share is not gathered. With `bias` q_a, kv_a and the projection
/// have biases. Source: huggingface/transformers src/transformers/models/deepseek_v3/modeling_deepseek_v3.py
/// (names and shapes of parameters).
void append_latent_attention(std::vector<Layer>& layers, const std::string& prefix,
                             const TransformerSize& size, const LatentAttention& latent,
                             const BlockParts& parts);

namespace config {

template <>
struct Keys<LatentAttention> {
  static auto table() {
    using L = LatentAttention;
    return keys(
        optional("query_rank", &L::query_rank, "features of the latent of queries; default: there is none")
            .at_least(1)
            .at_most(1e6),
        required("key_value_rank", &L::key_value_rank, "features of the latent of keys and values")
            .at_least(1)
            .at_most(1e6),
        required("plain_dim", &L::plain_dim, "features of a head's queries and keys that are not rotated")
            .at_least(1)
            .at_most(1e5),
        required("rope_dim", &L::rope_dim, "features of a head's queries and keys that are rotated")
            .at_least(1)
            .at_most(1e5),
        required("value_dim", &L::value_dim, "features of a head's values").at_least(1).at_most(1e5));
  }
};

}  // namespace config
}  // namespace trainyard
