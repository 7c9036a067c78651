#pragma once
// The rules by which a framework turns a layer into kernels (workloads/lowering/*.yaml): tables per kind of
// layer of one version of the framework's libraries, which hold for every model.

#include "config/document.hpp"
#include "lowering/kernel_class.hpp"
#include "lowering/optimizer_kernels.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The values that a kernel reads or writes, of the whole batch except parameters.
enum class KernelValues {
  input,       ///< of the layer
  output,      ///< of the layer
  one_output,  ///< of a single sample
  weights,     ///< the matrix of a layer, or a table
  bias,
  parameters,
  rows,        ///< of the output: tokens
  queries,     ///< of attention, the same number as its result
  keys,        ///< of attention, the same number as its values
  operands,    ///< queries and keys of attention
  ends,        ///< input and output
  scores,      ///< of attention
  statistics,  ///< a value per query and head
  saved,       ///< that the layer keeps for backward at least
  moved,       ///< that the layer reads and writes in forward
  nothing
};

/// The type of values.
enum class PassType {
  result,   ///< that the layer writes
  input,    ///< that the layer reads
  compute,  ///< of matrix products
  parameter,
  single,  ///< 4 bytes
  wide     ///< 4 bytes under autocast, else of products
};

/// The type that a layer writes.
enum class ResultType {
  input,  ///< that it reads
  compute,
  parameter,
  wide,          ///< fp32 under autocast, else that it reads; of a sum, the wider of both
  probabilities  ///< fp32 under autocast, unless the model predicts next tokens: then it casts them back
};

/// A state of a layer or of the whole step under which a kernel is launched.
enum class LaunchCondition {
  autocast,
  half,          ///< products in 16 bits
  single,        ///< products in 32 bits
  wide_input,    ///< the layer reads 4-byte values while products have 2
  narrow_input,  ///< the layer reads 2-byte values
  single_input,  ///< the layer reads 4-byte values
  mixed,         ///< a sum of a 2-byte and a 4-byte tensor
  same,          ///< a sum of two tensors of one type
  bias,
  input_gradient,
  grouped_heads,  ///< fewer heads of keys than of queries
  dropout,        ///< inside fused attention
  adds_rows,      ///< of an embedding
  replaces_rows,  ///< of an embedding: it begins the model's values
  of_positions,
  of_words,    ///< of an embedding: rows of each token
  tied,        ///< a table that another layer multiplies by
  next_token,  ///< the model predicts the next token of each
  any_token,   ///< the model does not
  depthwise,
  dense,  ///< a convolution that is not in groups
  reads_images,
  reads_maps,  ///< a convolution that does not read the image
  nhwc,
  nchw,
  joined,      ///< a product of queries, keys and values in one
  rotary,      ///< the model rotates queries and keys
  of_scores,   ///< a product of queries and keys
  of_context,  ///< one of probabilities and values
  packed,      ///< the model's projections of attention are one, and it predicts no next token
  new_input,   ///< no earlier layer keeps the values that it reads in the type of products
  clamped,     ///< a ReLU with an upper limit, or a gated unit of limited values
  windowed,    ///< of a pooling: windows, not the whole map
  whole_map,
  converted,  ///< a convolution for which cuDNN changes the order of channels: no product of single pixels
  untied,
  no_autocast,
  unaligned,      ///< a product of more than 64 columns that are no multiple of 8
  after_product,  ///< the layer before is a product or a convolution
  sum_follows,    ///< the layer after is a sum
  no_sum_follows,
  in_8_bits,  ///< the products of the layer are in 8 bits
  in_4_bits,
  not_in_8_bits,   ///< nor in 4
  scales_blocks,   ///< in_8_bits, with a scale for each block of values
  scales_tensors,  ///< in_8_bits, with one for all values
  casts_input,     ///< in 8 or 4 bits, and the layer before does not write its values so
  no_writer,       ///< the layer before, neither a norm nor an activation, cannot write 8 bits
  scales_now,      ///< Scaling::current
  trained,         ///< the layer has parameters
  constant,        ///< it has none
  computed,        ///< of a bias of scores: a network computes it
  per_channel,     ///< of a sum or product: one value of the second operand for each channel of a sample
  per_value,       ///< of a sum or product: operands of one shape
  of_maps,         ///< the layer reads [channels, height, width]
  of_tokens,       ///< it reads [tokens, features]
  reorders,        ///< of copies: into another order of the same shape
  merges,          ///< of copies: squares of tokens become one each
  of_results,      ///< the last product of experts
  wide_shares,     ///< the probabilities by which results of experts are multiplied are fp32
  narrow_shares,   ///< they have the type of the activations
  pads_rows        ///< rows of each expert are padded for products in 8 or 4 bits, by copies of them
};

/// Layers of a kind that have rules of their own.
enum class LayerVariant {
  none,
  biased_scores,  ///< of attention with a trained bias, which is not fused
  heads,          ///< a norm of heads
  inner,          ///< a dropout between the linear layers of the feed-forward half
  router,         ///< the product that scores the experts
  to_experts,     ///< copies of tokens in the order of their experts
  from_experts    ///< the sum of their results
};

/// The matrix product that a rule launches instead of a class of kernels.
enum class MatrixKernel { none, product, input_gradient, weight_gradient };

/// Kernels that a layer launches in one phase.
struct KernelRule {
  std::string kernel = {};  ///< a class of the lowering; empty: `matrix`
  MatrixKernel matrix = MatrixKernel::none;
  KernelValues of = KernelValues::output;
  double passes = 0;  ///< over values of `type`: each reads or writes all once
  PassType type = PassType::result;
  double bytes = 0;                        ///< per value, besides the passes
  double fixed_bytes = 0;                  ///< in all
  double above = 0;                        ///< number of values from which the kernel is launched
  bool synchronises = false;               ///< the host waits for the kernel
  bool per_tensor = false;                 ///< one for each tensor that a concatenation joins, of its part
  int pads = 1;                            ///< a product's columns become a multiple of this
  int count = 1;                           ///< such kernels
  std::vector<LaunchCondition> when = {};  ///< all must hold
};

/// A tensor in device memory, or several.
struct TensorRule {
  KernelValues of = KernelValues::output;
  double passes = 0;  ///< values of `type` for each
  PassType type = PassType::result;
  double bytes = 0;                        ///< for each, besides
  std::vector<LaunchCondition> when = {};  ///< all must hold
};

/// The kernels that a layer launches and the tensors that it keeps with one runtime.
struct PassRules {
  std::vector<KernelRule> forward = {}, backward = {};    ///< in order
  std::vector<TensorRule> kept = {};                      ///< from forward until backward has used them
  std::vector<TensorRule> held = {}, held_backward = {};  ///< besides, while the phase is in the layer
};

struct LayerRules {
  LayerKind layer{};
  LayerVariant variant = LayerVariant::none;  ///< none: of all others of this kind
  ResultType result = ResultType::input;
  std::vector<KernelRule> forward = {}, backward = {};
  std::optional<PassRules> compiled = {};                 ///< by a compiler; default: the same
  std::vector<TensorRule> kept = {};                      ///< from forward until backward has used them
  std::vector<TensorRule> held = {}, held_backward = {};  ///< besides, while the phase is in the layer
  std::string source = {};
};

/// One pass of an optimizer over lists of tensors: kernels of a limited number of tensors and blocks each.
struct TensorPass {
  int tensors = 110;  ///< at most, of a kernel
  double passes = 1;  ///< over the parameters, of their type
  double bytes = 0;   ///< per tensor, in place of passes
  std::string kernel = {};
};

struct OptimizerRules {
  std::vector<Optimizer> optimizers = {};
  OptimizerKernels kernels = OptimizerKernels::foreach_;
  double held = 0;  ///< values of temporary tensors per parameter
  std::vector<TensorPass> passes = {};
};

/// Shares of the peak that fused attention reaches with heads of up to `head_dim` features.
struct AttentionShares {
  int head_dim = 64;
  double forward = 1, backward = 1;
  double masked_forward = 1, masked_backward = 1;  ///< factors of a mask that is read
};

/// Fused attention of one library: its time is that of the products of whole tiles of tokens, and of some
/// more keys for each tile of queries.
struct FusedAttention {
  std::string name;
  bool half = true;  ///< of 16-bit values; false: of 4-byte ones, at a share of the fp32 peak
  Seconds fixed;
  int tile = 128;          ///< tokens
  int causal_extra = 128;  ///< keys that a causal mask leaves besides half of them, twice
  int smallest_head = 64;  ///< features: smaller heads take as long
  double forward_start = 0, backward_start = 0;      ///< keys
  double forward_dropout = 1, backward_dropout = 1;  ///< factors on the shares
  std::vector<AttentionShares> shares;
  std::string source = {};
};

/// Matrix products of a library in some precisions.
struct Products {
  std::vector<Precision> precisions = {};
  ProductRate rate;
};

/// The time of the reference host's thread that launches kernels.
struct HostCosts {
  Seconds forward, backward;     ///< of a launch
  Seconds repeat;                ///< of each further kernel that one call launches for another expert
  Seconds tensor, fused_tensor;  ///< of a tensor in an update of adam by foreach kernels, and in any other
  Seconds update;                ///< of a launch in an update tensor by tensor
  Seconds step;                  ///< between steps
  Seconds gap;                   ///< of the GPU between two kernels
  Seconds graph;                 ///< of the launch of a graph
  Seconds latency;               ///< from a launch to the start of its kernel
  Seconds synchronise;           ///< after each wait for the GPU
  Seconds collective;            ///< of the launch of a collective
  int queue = 0;                 ///< launches that wait for the GPU at most; 0: any number
  std::string source = {};
};

/// The work of a compiler besides the rules of layers.
struct CompilerRules {
  Seconds forward, backward;  ///< of the host for a launch
  bool masks_causal = false;  ///< true: a causal mask is a tensor, so that attention computes all scores
  std::vector<std::string> separate_attention = {};  ///< families whose attention is not fused
  std::string source = {};
};

struct Lowering {
  std::string name;
  std::string title;
  std::optional<std::string> like = {};  ///< the rules that hold where these say nothing
  bool joined_projections = false;       ///< projections of one input are one product
  bool activations_cast = true;          ///< an activation writes the 8 bits of the product behind it
  std::vector<KernelClass> kernels;
  std::vector<LayerRules> layers;
  std::vector<FusedAttention> attention;
  std::vector<Products> products;
  HostCosts host;
  KernelRule gradient_sum;  ///< of a tensor that several layers read: for each but the first
  // If layers read slices of a tensor: zeros for each slice's gradient and the copy into them; the
  // concatenation of the gradients if the slices make up the tensor. None launches nothing.
  std::optional<KernelRule> slice_zeros = {}, slice_copy = {}, slice_join = {};
  std::string clear = {};     ///< kernels before products of many tiles
  double largest_kernel = 0;  ///< bytes of a tensor from which on its kernels are split in halves
  std::optional<CompilerRules> compiler = {};  ///< none: it has no compiled runtime
  std::vector<OptimizerRules> optimizers = {};
  std::vector<TensorPass> scaler = {};  ///< of the loss in fp16 autocast, between backward and the update
  std::optional<KernelRule> weight_cast = {};  ///< once a step, of all weights of products in 8 bits
  Bytes workspace;                             ///< of the libraries of products
  std::vector<std::string> source = {};
};

/// Whether the rules say how layers compute in 8 bits.
bool has_8_bits(const Lowering& rules);

/// Whether it has rules of products in 4 bits (nvfp4).
bool has_4_bits(const Lowering& rules);

/// Reads and checks a file. `base`: the rules that it is like; without them classes of kernels may be theirs.
/// Own classes, layers and optimizers come before those of the base. Throws InputError with every problem
/// found.
Lowering load_lowering(const config::Document& document, const Lowering* base = nullptr);

}  // namespace trainyard
