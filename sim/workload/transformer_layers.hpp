#pragma once
// The layers of transformers, per sample, and the two halves of a transformer block built from them, for
// bert.hpp and decoder.hpp. Cost rules as in layer.hpp: a multiply-accumulate is two FLOPs. Each function
// says how tensor parallelism divides its layer (Layer::split).

#include "config/keys.hpp"
#include "workload/layer.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A table of `entries` rows; a sample looks up `rows` of them.
struct EmbeddingSize {
  int rows = 0, entries = 0, features = 0;
};

/// The first look-up of a model. Forward reads and writes a row per token; backward writes the gradient of
/// the whole table, most of it zeros. Split by the table's rows.
Layer embedding_layer(std::string name, EmbeddingSize size);

/// A look-up in the table of another layer, counted in tied_elements. Costs as embedding_layer: its backward
/// writes a gradient of the whole table too. Split by the table's rows.
Layer tied_embedding_layer(std::string name, EmbeddingSize size);

/// A further look-up whose rows are added to the previous ones: one FLOP per value forward; backward reads
/// the gradient. Its table is small. Split by tokens.
Layer added_embedding_layer(std::string name, EmbeddingSize size);

/// Layer normalisation of rows. 8 and 14 FLOPs per value; reads and writes each value once forward, three
/// passes backward. Keeps its input. Without `has_bias` its only parameters are the scales.
Layer layer_norm_layer(std::string name, int rows, int features, bool has_bias = true);

/// y = w x / sqrt(mean(x^2)) for each row (Zhang and Sennrich 2019, arXiv 1910.07467, equation 4). 4 and 9
/// FLOPs per value, counted from the formula and its derivative; passes as layer_norm_layer. Keeps its input.
Layer rms_norm_layer(std::string name, int rows, int features);

/// 8 and 12 FLOPs per value, two passes forward, three backward. Keeps its input.
Layer gelu_layer(std::string name, std::vector<int> shape);

/// Up projection times SiLU of the gate, x sigmoid(x), for `features` of each (Shazeer 2020, arXiv
/// 2002.05202, equation 6). Forward: 5 FLOPs per output (exponential, sum, quotient, two products), three
/// passes over values as many as outputs. Backward: 10 FLOPs, five passes: both inputs and the output's
/// gradient read, two gradients written. One fused kernel is assumed each way. Keeps both inputs.
Layer silu_product_layer(std::string name, int rows, int features);

/// Up projection times GELU of the gate (Shazeer 2020, arXiv 2002.05202, equation 6). As
/// silu_product_layer(), with 9 FLOPs per output forward and 14 backward: gelu_layer()'s and the product's.
Layer gelu_product_layer(std::string name, int rows, int features);

/// As silu_product_layer(), of values clamped before: min(gate, c) sigmoid(1.702 gate) times (clamped up +
/// 1). 10 FLOPs per output forward, 17 backward. Source: openai/gpt-oss gpt_oss/torch/model.py, swiglu().
Layer clipped_silu_product_layer(std::string name, int rows, int features);

/// Whether a layer is such a product of limited values; by its FLOPs, as no other silu has as many.
bool is_clipped(const Layer& layer);

/// Rotates `shape` (heads, tokens, features of a head) by position: each pair of features by an angle (Su et
/// al. 2021, arXiv 2104.09864, equation 34). 3 FLOPs per value and two passes, each way: backward rotates the
/// gradient back. Assumed: one fused kernel that moves the values only, since all samples and heads share the
/// table of angles. Keeps nothing.
Layer rope_layer(std::string name, std::vector<int> shape);

/// Keeps a mask of one byte per value, which each pass moves in addition to the values: a quarter of an
/// element more for 4-byte values (make_trace counts one byte in every precision).
Layer dropout_layer(std::string name, std::vector<int> shape);

/// Adds a bias by relative position to attention scores of `shape` (heads, queries, keys). Each pass of one
/// FLOP per value reads every score; forward also writes them. The bias itself is shared by all samples and
/// not counted. Keeps nothing. With `buckets` above 0 it has the table of the bias, one row per bucket of
/// distances and one column per head, which every rank of a tensor group holds whole. Source:
/// NVIDIA/Megatron-LM megatron/core/models/common/embeddings/relative_pos_embedding.py.
Layer position_bias_layer(std::string name, const std::vector<int>& shape, int buckets);

/// 5 and 4 FLOPs per value, two passes forward, three backward. Keeps its output.
Layer softmax_layer(std::string name, std::vector<int> shape);

/// Log-softmax and cross entropy of rows over `classes` values. Each pass reads and writes all of them. Keeps
/// the probabilities. Split by classes.
Layer softmax_cross_entropy_layer(std::string name, int rows, int classes);

/// A linear layer for several projections at once: tensors "name.q.weight", "name.q.bias" and so on for each
/// of `parts`, with equal shares of the outputs.
Layer split_linear_layer(std::string name, LinearSize size, const std::vector<std::string>& parts);

/// A linear layer that multiplies by a table of the model (its word embedding). The matrix belongs to the
/// table: here it is neither a parameter nor traffic, but counted in tied_elements. With or without a bias,
/// whose traffic is not counted either. Split by columns.
Layer tied_linear_layer(std::string name, LinearSize size, bool has_bias);

/// Sizes of one block.
struct TransformerSize {
  int sequence = 0;                  ///< in tokens: of the queries
  int hidden = 0;                    ///< features per token
  int heads = 0;                     ///< divides hidden
  int intermediate = 0;              ///< features between the two linear layers of the feed-forward half
  std::optional<int> kv_heads = {};  ///< heads of keys and of values, divides heads; default: as many
  std::optional<int> head_dim = {};  ///< features of a head; default: hidden / heads
  /// Tokens of the keys and values; default: as many. Others in an attention to an encoder's output.
  std::optional<int> kv_sequence = {};
  std::optional<int> value_dim = {};  ///< features of a head's values; default: as queries and keys have
  /// The last tokens, its own included, to which a token attends in causal attention; default: all.
  std::optional<int> window = {};
};

int kv_heads(const TransformerSize& size);
int kv_sequence(const TransformerSize& size);
int head_dim(const TransformerSize& size);
int value_dim(const TransformerSize& size);
/// Outputs of the joint projection to queries, keys and values.
int qkv_columns(const TransformerSize& size);

enum class AttentionKernel { unfused, flash };

/// The function between the two linear layers of a feed-forward half. The products have a gate: the first
/// linear layer computes both factors.
enum class Activation { gelu, relu, silu, silu_product, gelu_product, clipped_silu_product };

constexpr bool is_gated(Activation activation) {
  return activation == Activation::silu_product || activation == Activation::gelu_product ||
         activation == Activation::clipped_silu_product;
}

/// A norm of queries and of keys before their products: of each head, with one scale for all of them (Qwen 3)
/// or one for each (Cohere), or of the features of all heads together (OLMo 2).
enum class QkNorm { none, heads, own_heads, whole };

/// The parts of a block besides its projections.
struct BlockParts {
  bool bias = true;     ///< of the linear layers
  bool dropout = true;  ///< in front of the residual sums
  bool rope = false;
  Activation activation = Activation::gelu;
  AttentionKernel attention = AttentionKernel::unfused;
  bool causal = false;                           ///< a flash kernel skips the masked half
  std::optional<bool> probability_dropout = {};  ///< of the attention probabilities; default: dropout
  bool inner_dropout = false;  ///< with dropout: also between the linear layers of the feed-forward half
  bool position_bias = false;  ///< a relative position bias is added to the scores
  bool masks_keys = false;     ///< a mask says which keys a sample has
  QkNorm qk_norm = QkNorm::none;
  LayerKind qk_norm_kind = LayerKind::rms_norm;
  bool qk_norm_bias = false;              ///< layer norms of queries and keys learn a bias, too (Phi)
  std::optional<bool> output_bias = {};   ///< of the projection after attention; default: bias
  std::optional<bool> mlp_bias = {};      ///< of the feed-forward half; default: bias
  std::optional<int> rope_features = {};  ///< features of a head that are rotated; default: all
  bool caps_scores = false;               ///< a cap of the scores by tanh (Gemma 2)
  bool sinks = false;                     ///< a logit per head that takes part in the softmax (gpt-oss)
  int bias_buckets = 0;                   ///< rows of its table, which one block of the model has
  bool joined_projections = false;        ///< those of attention are one tensor in every framework
};

/// Norms of the queries and keys of every head, shape {heads of both, tokens, features}, with biases if
/// wanted. Costs as a norm of `kind`; `whole` as well, whose sum over ranks that divide the heads is not
/// simulated.
Layer head_norm_layer(std::string name, const TransformerSize& size, QkNorm norm, LayerKind kind,
                      bool has_bias = false);

/// Queries times keys for each head: [sequence x width] times [width x kv_sequence]. Keeps both operands.
/// Backward reads the output's gradient once. Heads that share keys read them once.
Layer attention_scores_layer(std::string name, const TransformerSize& size);

/// Probabilities times values for each head. Keeps the values; earlier layers keep the probabilities.
/// Backward is two such products.
Layer attention_context_layer(std::string name, const TransformerSize& size);

/// Both products of attention and the softmax between them in one kernel that keeps the scores on the chip.
/// Forward FLOPs are those of two products of computed_scores(); backward computes the scores again and
/// has five products (three with as many features as keys have, two with those of the values), 2.5 times as
/// many. Queries, keys, values and output are moved once forward and, with
/// their gradients, twice backward. Keeps queries, keys, values and one fp32 value per row and head; the
/// output is kept by the projection that follows, whose input it is. Sources: Dao et al. 2022,
/// FlashAttention, arXiv 2205.14135, algorithms 1 and 4; Dao 2023, FlashAttention-2, arXiv 2307.08691,
/// sections 3 and 4.1.
Layer flash_attention_layer(std::string name, const TransformerSize& size, bool causal);

/// Scores of all heads that a fused kernel computes: all, half of them if causal, and with a window of w of
/// the s tokens the band w s - w^2 / 2 of each head.
double computed_scores(const TransformerSize& size, bool causal);

/// Whether a layer is part of the attention core, whose values selective recomputation does not keep: scores
/// with their bias, softmax, dropout, context. Source: Korthikanti et al. 2022, arXiv 2205.05198, section 5.
bool is_attention_core(const Layer& layer);

/// Attention of the heads alone, from queries, keys and values to the context: "name.qk" to "name.av", or
/// "name.flash".
std::vector<Layer> attention_core(const std::string& name, const TransformerSize& size,
                                  const BlockParts& parts);

/// Attention from the joint projection `qkv` to the residual sum: "prefix.attn.qk" ... "prefix.add1". The
/// probabilities before and after their dropout are both kept. With a flash kernel "prefix.attn.flash" stands
/// in place of qk, softmax, dropout and av.
void append_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                      Layer qkv, const BlockParts& parts = {});

/// As above without the residual sum, up to "prefix.attn.proj".
void append_self_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                           Layer qkv, const BlockParts& parts);

/// From queries, keys and values to the projection "name.proj" of the context.
void append_core_and_projection(std::vector<Layer>& layers, const std::string& name,
                                const TransformerSize& size, const BlockParts& parts);

/// Attention of `size.sequence` tokens to the `kv_sequence` tokens of an encoder's output, up to the residual
/// sum "prefix.add2": "prefix.cross.q" projects the own tokens, "prefix.cross.kv" the encoder's, which keeps
/// nothing of its own: the encoder's last layer keeps the tensor that all blocks read.
void append_cross_attention(std::vector<Layer>& layers, const std::string& prefix,
                            const TransformerSize& size, const BlockParts& parts);

/// The feed-forward half with its residual sum: "prefix.mlp.fc1" ... "prefix.add2". If gated, fc1 computes
/// both halves and "prefix.mlp.silu" or "prefix.mlp.geglu" stands in place of the GELU.
void append_feed_forward(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                         const BlockParts& parts = {});

/// Two linear layers with `features` between them and their activation: "prefix.fc1" to "prefix.fc2".
void append_mlp(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                int features, const BlockParts& parts);

/// The activation of a feed-forward half: "prefix.silu", "prefix.gelu" ...
Layer activation_layer(const std::string& prefix, int rows, int features, const BlockParts& parts);

/// The layer, divided in this way.
Layer with_split(Layer layer, TensorSplit split);

/// The end of a half of a block: "prefix.dropNUMBER" if the block has dropout, "prefix.addNUMBER". All ranks
/// hold its tokens, or each a part of them.
void append_residual(std::vector<Layer>& layers, const std::string& prefix, const std::string& number,
                     const TransformerSize& size, const BlockParts& parts);

/// The vocabulary with entries added up to a multiple of `multiple`, so that ranks can divide it.
int padded_vocabulary(int vocabulary, std::optional<int> multiple);

namespace config {

template <>
struct Names<AttentionKernel> {
  static constexpr std::string_view what = "attention kernel";
  static constexpr std::array table{
      Name{"unfused", AttentionKernel::unfused,
           "scores, softmax, dropout and context as kernels of their own"},
      Name{"flash", AttentionKernel::flash, "one kernel that keeps the scores on the chip"},
      Name{"eager", AttentionKernel::unfused, ""},
      Name{"flash_attention", AttentionKernel::flash, ""},
      Name{"flash_attention_2", AttentionKernel::flash, ""},
      Name{"flash_attn", AttentionKernel::flash, ""},
      Name{"fused", AttentionKernel::flash, ""}};
};

}  // namespace config
}  // namespace trainyard
