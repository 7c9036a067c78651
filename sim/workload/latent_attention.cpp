#include "workload/latent_attention.hpp"

#include <utility>

namespace trainyard {
namespace {

/// A layer that reads the block's normed input again, which the layer before has kept.
Layer reads_again(Layer layer) {
  layer.saved_elements = 0;
  layer.continues_previous = false;
  return layer;
}

}  // namespace

TransformerSize with_heads_of(const LatentAttention& latent, TransformerSize size) {
  size.kv_heads = std::nullopt;
  size.head_dim = latent.plain_dim + latent.rope_dim;
  size.value_dim = latent.value_dim;
  return size;
}

void append_latent_attention(std::vector<Layer>& layers, const std::string& prefix,
                             const TransformerSize& size, const LatentAttention& latent,
                             const BlockParts& parts) {
  const std::string name = prefix + ".attn";
  const int tokens = size.sequence;
  const bool has_bias = parts.bias;
  const auto append = [&](TensorSplit split, Layer layer) {
    layers.push_back(with_split(std::move(layer), split));
  };
  const int query_columns = size.heads * head_dim(size);
  const std::size_t first = layers.size();
  if (const std::optional<int> rank = latent.query_rank) {
    append(TensorSplit::tokens, linear_layer(name + ".q_a", {tokens, size.hidden, *rank}, has_bias));
    append(TensorSplit::tokens, rms_norm_layer(name + ".q_norm", tokens, *rank));
    append(TensorSplit::columns, linear_layer(name + ".q_b", {tokens, *rank, query_columns}, false));
  } else {
    append(TensorSplit::columns, linear_layer(name + ".q", {tokens, size.hidden, query_columns}, false));
  }
  set_shares_input(layers[first]);  // with kv_a
  const int rank = latent.key_value_rank;
  append(TensorSplit::tokens,
         reads_again(linear_layer(name + ".kv_a", {tokens, size.hidden, rank + latent.rope_dim}, has_bias)));
  append(TensorSplit::tokens, rms_norm_layer(name + ".kv_norm", tokens, rank));
  const int columns = size.heads * (latent.plain_dim + latent.value_dim);
  append(TensorSplit::columns, linear_layer(name + ".kv_b", {tokens, rank, columns}, false));
  append(TensorSplit::inner, rope_layer(name + ".rope", {size.heads + 1, tokens, latent.rope_dim}));
  layers.back().limited = {latent.rope_dim, 1};
  append(TensorSplit::inner, concat_layer(name + ".concat", {size.heads, tokens, 2 * head_dim(size)}));
  append_core_and_projection(layers, name, size, parts);
}

}  // namespace trainyard
