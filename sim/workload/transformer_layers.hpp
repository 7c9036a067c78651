#pragma once
// The layers of transformers, per sample, and the two halves of a transformer block built from them, for
// bert.hpp and gpt2.hpp. Cost rules as in layer.hpp: a multiply-accumulate is two FLOPs.

#include "workload/layer.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// A table of `entries` rows; a sample looks up `rows` of them.
struct EmbeddingSize {
  int rows = 0, entries = 0, features = 0;
};

/// The first look-up of a model. Forward reads and writes a row per token; backward writes the gradient of
/// the whole table, most of it zeros.
Layer embedding_layer(std::string name, EmbeddingSize size);

/// A further look-up whose rows are added to the previous ones: one FLOP per value forward; backward reads
/// the gradient. Its table is small.
Layer added_embedding_layer(std::string name, EmbeddingSize size);

/// Layer normalisation of rows. 8 and 14 FLOPs per value; reads and writes each value once forward, three
/// passes backward. Keeps its input.
Layer layer_norm_layer(std::string name, int rows, int features);

/// 8 and 12 FLOPs per value, two passes forward, three backward. Keeps its input.
Layer gelu_layer(std::string name, std::vector<int> shape);

/// Keeps a mask of one byte per value, which each pass moves in addition to the values: a quarter of an
/// element more for 4-byte values (make_trace counts one byte in every precision).
Layer dropout_layer(std::string name, std::vector<int> shape);

/// 5 and 4 FLOPs per value, two passes forward, three backward. Keeps its output.
Layer softmax_layer(std::string name, std::vector<int> shape);

/// Log-softmax and cross entropy of rows over `classes` values. Each pass reads and writes all of them. Keeps
/// the probabilities.
Layer softmax_cross_entropy_layer(std::string name, int rows, int classes);

/// A linear layer for several projections at once: tensors "name.q.weight", "name.q.bias" and so on for each
/// of `parts`, with equal shares of the outputs.
Layer split_linear_layer(std::string name, LinearSize size, const std::vector<std::string>& parts);

/// A linear layer that multiplies by a table of the model (its word embedding). The matrix belongs to the
/// table: here it is neither a parameter nor traffic, but counted in tied_elements. With or without a bias,
/// whose traffic is not counted either.
Layer tied_linear_layer(std::string name, LinearSize size, bool has_bias);

/// Sizes of one block.
struct TransformerSize {
  int sequence = 0;      ///< in tokens
  int hidden = 0;        ///< features per token
  int heads = 0;         ///< divides hidden
  int intermediate = 0;  ///< features between the two linear layers of the feed-forward half
};

/// Queries times keys for each head: [sequence x width] times [width x sequence]. Keeps both operands.
/// Backward reads the output's gradient once.
Layer attention_scores_layer(std::string name, const TransformerSize& size);

/// Probabilities times values for each head. Keeps the values; earlier layers keep the probabilities.
/// Backward is two such products.
Layer attention_context_layer(std::string name, const TransformerSize& size);

/// Attention from the joint projection `qkv` to the residual sum: "prefix.attn.qk" ... "prefix.add1". The
/// probabilities before and after their dropout are both kept.
void append_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                      Layer qkv);

/// The feed-forward half with its residual sum: "prefix.mlp.fc1" ... "prefix.add2".
void append_feed_forward(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size);

}  // namespace trainyard
