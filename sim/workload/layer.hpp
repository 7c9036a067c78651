#pragma once
// A layer of a model per sample: shapes, parameter tensors, arithmetic, memory traffic and the values kept
// for the backward pass. Model families (resnet.hpp) build lists of these; make_trace.hpp turns them into
// ops. Counts are doubles: exact up to 2^53, without overflow.

#include "collectives/axis.hpp"
#include "config/traits.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class LayerKind {
  conv,
  conv_transpose,
  local,
  batch_norm,
  layer_norm,
  rms_norm,
  local_response_norm,
  relu,
  prelu,
  gelu,
  swish,
  sigmoid,
  tanh,
  silu,
  geglu,
  rope,
  dropout,
  max_pool,
  add,
  multiply,
  concat,
  position_bias,
  average_pool,
  embedding,
  linear,
  batched_matmul,
  softmax,
  flash_attention,
  softmax_cross_entropy,
  margin,
  sigmoid_cross_entropy,
  permute,
  recurrence,
  additive_scores,
  pairs,
  group_norm,
  response_norm,
  layer_scale,
  drop_path,
  modulate,
  upsample,
  copy,
  squared_error
};

/// Everything in which kinds of layers differ by family. `forward` and `backward` are the ops of one pass
/// over its values; the backward pass of a matrix product has other ops.
struct LayerTraits {
  OpKind forward = OpKind::elementwise;
  OpKind backward = OpKind::elementwise;
  bool keeps_input = false;       ///< what it keeps for backward is the whole tensor that it reads
  bool keeps_inputs = false;      ///< the same of several tensors
  bool is_elementwise = false;    ///< may be fused with such a layer before it
  bool ends_elementwise = false;  ///< the last pass of its forward is element-wise
  bool rereads_output = false;    ///< backward reads its output
  bool is_loss = false;           ///< ends the model: its output is the loss

  [[nodiscard]] constexpr bool is_convolution() const {
    return forward == OpKind::conv_forward || forward == OpKind::conv_dgrad;
  }
};

inline constexpr LayerTraits of_norms{.forward = OpKind::layer_norm,
                                      .backward = OpKind::layer_norm,
                                      .keeps_input = true,
                                      .ends_elementwise = true};
inline constexpr LayerTraits of_pools{
    .forward = OpKind::pooling, .backward = OpKind::pooling, .keeps_input = true};

inline constexpr std::array layer_kinds{
    config::Row{"conv", LayerKind::conv, "2-D convolution",
                LayerTraits{.forward = OpKind::conv_forward, .keeps_input = true}},
    config::Row{"conv_transpose", LayerKind::conv_transpose, "transposed 2-D convolution",
                LayerTraits{.forward = OpKind::conv_dgrad, .keeps_input = true}},
    config::Row{"local", LayerKind::local, "locally connected: a convolution with unshared weights",
                LayerTraits{.forward = OpKind::gemm, .keeps_input = true}},
    config::Row{"batchnorm", LayerKind::batch_norm, "batch normalisation",
                LayerTraits{.forward = OpKind::batch_norm_forward,
                            .backward = OpKind::batch_norm_backward,
                            .keeps_input = true,
                            .ends_elementwise = true}},
    config::Row{"layernorm", LayerKind::layer_norm, "layer normalisation", of_norms},
    config::Row{"rmsnorm", LayerKind::rms_norm, "normalisation by the root mean square", of_norms},
    config::Row{"lrn", LayerKind::local_response_norm, "local response normalisation", LayerTraits{}},
    config::Row{"relu", LayerKind::relu, "rectified linear unit",
                LayerTraits{.is_elementwise = true, .rereads_output = true}},
    config::Row{"prelu", LayerKind::prelu, "rectified linear unit with a learned slope below 0",
                LayerTraits{.keeps_input = true}},
    config::Row{"gelu", LayerKind::gelu, "Gaussian error linear unit",
                LayerTraits{.keeps_input = true, .is_elementwise = true}},
    config::Row{"swish", LayerKind::swish, "values times their sigmoid (SiLU)",
                LayerTraits{.keeps_input = true, .is_elementwise = true}},
    config::Row{"sigmoid", LayerKind::sigmoid, "logistic function",
                LayerTraits{.is_elementwise = true, .rereads_output = true}},
    config::Row{"tanh", LayerKind::tanh, "hyperbolic tangent",
                LayerTraits{.is_elementwise = true, .rereads_output = true}},
    config::Row{"silu", LayerKind::silu, "one half of the features times the SiLU of the other (SwiGLU)",
                LayerTraits{.keeps_input = true}},
    config::Row{"geglu", LayerKind::geglu, "one half of the features times the GELU of the other (GEGLU)",
                LayerTraits{.keeps_input = true}},
    config::Row{"rope", LayerKind::rope, "rotation of queries and keys by their position", LayerTraits{}},
    config::Row{"dropout", LayerKind::dropout, "random values set to zero",
                LayerTraits{.is_elementwise = true}},
    config::Row{"maxpool", LayerKind::max_pool, "maximum pooling", of_pools},
    config::Row{"add", LayerKind::add, "sum of two inputs", LayerTraits{.is_elementwise = true}},
    config::Row{"multiply", LayerKind::multiply, "product of two inputs", LayerTraits{.keeps_inputs = true}},
    config::Row{"concat", LayerKind::concat, "concatenation: copies of the inputs", LayerTraits{}},
    config::Row{"position_bias", LayerKind::position_bias, "a bias by position added to attention scores",
                LayerTraits{.is_elementwise = true}},
    config::Row{"avgpool", LayerKind::average_pool, "average pooling", of_pools},
    config::Row{"embedding", LayerKind::embedding, "look-up of table rows",
                LayerTraits{.forward = OpKind::embedding, .backward = OpKind::embedding}},
    config::Row{"linear", LayerKind::linear, "fully connected",
                LayerTraits{.forward = OpKind::gemm, .keeps_input = true}},
    config::Row{"bmm", LayerKind::batched_matmul, "one matrix product per attention head",
                LayerTraits{.forward = OpKind::gemm, .keeps_inputs = true}},
    config::Row{"softmax", LayerKind::softmax, "softmax of attention scores",
                LayerTraits{.forward = OpKind::softmax,
                            .backward = OpKind::softmax,
                            .ends_elementwise = true,
                            .rereads_output = true}},
    config::Row{"flash_attention", LayerKind::flash_attention, "attention of all heads in one kernel",
                LayerTraits{.forward = OpKind::attention, .keeps_inputs = true}},
    config::Row{"softmax_xent", LayerKind::softmax_cross_entropy, "softmax and loss",
                LayerTraits{.forward = OpKind::softmax, .backward = OpKind::softmax, .is_loss = true}},
    config::Row{"margin", LayerKind::margin, "margin of the label's class", LayerTraits{}},
    config::Row{"sigmoid_xent", LayerKind::sigmoid_cross_entropy, "sigmoid and loss",
                LayerTraits{.keeps_input = true, .is_loss = true}},
    config::Row{"permute", LayerKind::permute, "copies of tokens in the order of their experts, or their sum",
                LayerTraits{}},
    config::Row{"recurrence", LayerKind::recurrence, "steps of a recurrent network, one after the other",
                LayerTraits{}},
    config::Row{"additive_scores", LayerKind::additive_scores, "scores of additive attention",
                LayerTraits{.keeps_inputs = true}},
    config::Row{"pairs", LayerKind::pairs, "products of different vectors, picked from those of all pairs",
                LayerTraits{}},
    config::Row{"groupnorm", LayerKind::group_norm, "normalisation of groups of channels", of_norms},
    config::Row{"response_norm", LayerKind::response_norm, "global response normalisation (ConvNeXt V2)",
                LayerTraits{.keeps_input = true}},
    config::Row{"layer_scale", LayerKind::layer_scale, "a factor for each channel",
                LayerTraits{.keeps_input = true, .is_elementwise = true}},
    config::Row{"drop_path", LayerKind::drop_path, "random samples set to zero (stochastic depth)",
                LayerTraits{.is_elementwise = true}},
    config::Row{"modulate", LayerKind::modulate, "a factor and a summand for each channel of a sample",
                LayerTraits{.keeps_input = true, .is_elementwise = true}},
    config::Row{"upsample", LayerKind::upsample, "each value of a map several times", LayerTraits{}},
    config::Row{"copy", LayerKind::copy, "copies of the values in another order", LayerTraits{}},
    config::Row{"mse", LayerKind::squared_error, "squared differences as loss",
                LayerTraits{.keeps_input = true, .is_loss = true}}};

constexpr const LayerTraits& traits(LayerKind kind) { return config::traits_in<layer_kinds>(kind); }

/// A trainable tensor.
struct Parameter {
  std::string name;  ///< "layer1.0.conv1.weight"
  double elements = 0;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// The layer's matrix product per sample: C[m x n] = A[m x k] * B[k x n], `batch` times; all zero for other
/// layers.
struct LayerGemm {
  int batch = 0, m = 0, n = 0, k = 0;
  bool transpose_b = false;  ///< B is stored as [n x k]
  friend bool operator==(const LayerGemm&, const LayerGemm&) = default;
};

/// Where a layer reads its input: `stride` apart in both directions, with `pad_h` and `pad_w` zeros on each
/// side. A pooling may also write the values of windows that begin inside the input and end beyond it.
struct Window {
  int kernel_h = 0, kernel_w = 0, stride = 1, pad_h = 0, pad_w = 0;
  bool round_up = false;
  friend bool operator==(const Window&, const Window&) = default;
};

/// The window of layers that read every value.
inline constexpr Window no_window{0, 0, 0};

/// How tensor parallelism divides a layer among the ranks of a group. Source: Shoeybi et al. 2019,
/// Megatron-LM, arXiv 1909.08053, section 3; for `tokens` Korthikanti et al. 2022, arXiv 2205.05198,
/// section 4.2.2.
enum class TensorSplit {
  none,     ///< every rank computes all of it
  columns,  ///< the outputs of a linear layer
  rows,     ///< the inputs of a linear layer: every rank has a partial sum of all outputs
  inner,    ///< all values of a layer between `columns` and `rows`: attention heads, features
  tokens,   ///< the tokens of a layer after `rows` and before `columns`, with sequence parallelism
  table,    ///< the rows of an embedding
  loss      ///< the classes of the loss
};

/// Outputs of a linear layer that at most `parts` ranks divide, while more ranks hold copies: the keys and
/// values of grouped-query attention.
struct LimitedColumns {
  int columns = 0;
  int parts = 0;
  friend bool operator==(const LimitedColumns&, const LimitedColumns&) = default;
};

/// The gradient of a tensor of which layers read slices, in values of a sample.
struct SliceGradients {
  int slices = 0;     ///< that do not make up the whole: each gradient is zeros, into which it is copied
  double zeros = 0;   ///< in all of them
  double copied = 0;  ///< values of these slices
  double joined = 0;  ///< of slices that make up the whole: their gradients are concatenated
  friend bool operator==(const SliceGradients&, const SliceGradients&) = default;
};

struct Layer {
  std::string name;
  LayerKind kind{};
  std::vector<int> in_shape;  ///< of one sample: channels, height, width; or rows, features; or heads ...
  std::vector<int> out_shape;
  Window window = no_window;
  int groups = 1;                     ///< parts of a convolution's channels that do not see each other
  bool has_input_gradient = true;     ///< false for the layer that reads the data
  std::vector<Parameter> parameters;  ///< in registration order
  double forward_macs = 0;            ///< multiply-accumulates of the matrix work
  Flops forward_flops;                ///< 2 x MACs, or the arithmetic of other layers
  Flops backward_flops;
  int samples = 1;  ///< whose values it computes, for each sample of the rank; the counts are those of all
  double in_elements = 0;
  double out_elements = 0;
  double saved_elements = 0;       ///< activations kept for backward, in the activations' type
  Bytes saved_fixed;               ///< kept for backward in any precision: indices
  double forward_rw_elements = 0;  ///< read and written by the forward pass
  double backward_rw_elements = 0;
  double weight_rw_elements = 0;  ///< the weights in forward_rw_elements: moved once per batch
  double tied_elements = 0;       ///< weights shared with another layer: not in the counts above
  std::string tied_to;            ///< the layer whose table these are; empty: the model's word embedding
  double tied_bias = 0;           ///< of them, those of a bias
  bool adds_rows = false;         ///< of an embedding: its rows are added to the previous ones
  bool of_positions = false;      ///< of such an embedding: every sample looks up the same rows
  bool stays_in_16_bits = false;  ///< in fp8: a linear layer that is no part of a transformer block
  /// Values of each table of an embedding that a sample looks up, if only their gradients are computed and
  /// only they are updated (sparse gradients); 0: gradients of all parameters.
  double sparse_elements = 0;
  double repeated_rows = 0;  ///< of an embedding: look-ups of its most frequent row, per sample of the rank
  int steps = 0;  ///< of a recurrence: its product follows itself this often, for one token of every sample
  /// Its input is the encoder's output, not that of the layer before: its shapes and elements count the
  /// tokens of the encoder, and the layer that wrote these values keeps them for all such layers
  /// (saved_elements: 0).
  bool reads_encoder = false;
  LayerGemm gemm;
  bool keeps_wide_input = false;  ///< a product's input stays in 16 bits besides: fused attention reads it
  /// Columns of the projections that are one product here and that a framework may compute one by one: of
  /// queries, keys and values, of gate and up. One: no framework does. Empty: it is not of that kind.
  std::vector<int> projections = {};
  bool drops_probabilities = false;  ///< of fused attention: dropout inside its kernel
  bool masks_keys = false;           ///< of fused attention: a mask says which keys a sample has
  bool has_biased_scores = false;    ///< of attention in separate products: a trained bias is added
  int joins = 0;                     ///< tensors that a concatenation joins, also those joined before it
  bool predicts_next_token = false;  ///< of a loss: of every token but the first of a sample
  /// Sums of gradients of its input, which other layers read too, if it is the first of them, and the values
  /// of a sample in all of these sums.
  int input_sums = 0;
  double summed_elements = 0;
  SliceGradients slice_gradients = {};  ///< of its input, if it is the first of the layers that read it
  bool per_channel = false;  ///< of a sum or product: the second operand has a value per channel of a sample
  TensorSplit split = TensorSplit::none;
  LimitedColumns limited = {};  ///< part of the outputs of a layer split by columns
  /// The axis whose groups hold copies of the parameters and sum their gradients; empty: no other rank has
  /// them.
  std::optional<Axis> summed_over = Axis::data;
  /// Part of a linear layer's outputs that it computes, drawn anew for every micro-batch; its shape and
  /// counts are those of the drawn ones, its parameters those of all.
  double drawn = 1;
  /// Whether each pass first scales every row of a linear layer's weights to length 1, so that outputs are
  /// cosines. The scaled weights are kept for backward, which reads them and both gradients.
  bool normalises_weights = false;
  int experts = 0;  ///< whose rows the layer's values are, and whose weights it has; 0: it is no expert's
  double load = 1;  ///< rows computed per row that the router sends, of the fullest rank
  /// Whether it reads the output of the layer before it, which no other layer reads: their ops may be fused.
  bool continues_previous = true;
  /// Number of the layer's block, inside which several tensors pass from layer to layer; none where the model
  /// is a chain of single layers.
  std::optional<int> block;
};

/// Whether two layers do the same: all about them is equal but their names, those of their parameters, and
/// their block.
bool do_the_same(const Layer& a, const Layer& b);

/// Whether a layer is a convolution, transposed or not.
inline bool is_convolution(const Layer& layer) { return traits(layer.kind).is_convolution(); }

/// Values in all parameter tensors of a layer.
double parameter_elements(const Layer& layer);

/// Values in all parameter tensors, by the axis that sums their gradients.
std::map<std::optional<Axis>, double> parameters_by_axis(const std::vector<Layer>& layers);

/// Values of one of a layer's parameter tensors that have a gradient in a step of `samples`: all of them; of
/// a table with sparse gradients at most those that the samples look up, as if no row were looked up twice.
double gradient_elements(const Layer& layer, const Parameter& parameter, double samples);

/// Elements of the gradients of all parameter tensors of a layer.
double gradient_elements(const Layer& layer, double samples);

/// Elements of the gradients of all layers, by the axis that sums them.
std::map<std::optional<Axis>, double> gradients_by_axis(const std::vector<Layer>& layers, double samples);

struct FeatureMap {
  int channels = 0, height = 0, width = 0;
};

/// A square window and the output of a convolution.
struct ConvWindow {
  int out_channels = 0, kernel = 0, stride = 1, padding = 0;
  bool has_bias = false;
};

struct LinearSize {
  int rows = 0, in = 0, out = 0;  ///< rows: the tokens of a sample
};

std::vector<int> dimensions(FeatureMap map);

/// A layer with name, kind, shapes and element counts, but no costs yet.
Layer shaped_layer(std::string name, LayerKind kind, std::vector<int> in, std::vector<int> out);

/// Sets Layer::block of the layers from `first` on.
void set_block(std::vector<Layer>& layers, std::size_t first, int block);

/// Costs of a layer with one output value per input value: FLOPs per value, passes over the values.
struct VectorCosts {
  int forward_flops = 0, backward_flops = 0, forward_passes = 2, backward_passes = 3;
  bool keeps_input = true;
};

Layer vector_layer(std::string name, LayerKind kind, const std::vector<int>& shape, VectorCosts costs);

/// Marks the layer that reads the data: it has no gradient of its input.
void set_reads_data(Layer& layer);

/// Says that another layer reads a layer's input too, after it.
void set_shares_input(Layer& layer);

/// Sets the arithmetic of a layer with this many multiply-accumulates; backward has twice as many.
void set_macs(Layer& layer, double macs);

// One function per kind of layer; each states its cost rules. A multiply-accumulate is two FLOPs. Transformer
// layers are in transformer_layers.hpp.

/// Convolution. Forward 2 x MACs; backward twice that (input gradient and weight gradient), once
/// for a layer without an input gradient. Traffic forward: input, output, weights once each; backward twice
/// that. Keeps its input. Throws InputError if the window does not fit in the padded input.
Layer conv_layer(std::string name, FeatureMap in, ConvWindow window);
/// As above, with a window of any shape.
Layer conv_layer(std::string name, FeatureMap in, int out_channels, Window window, bool has_bias = false);
/// As above, in `groups` that divide the channels of input and output: each output sees the channels of its
/// group. As many groups as channels make a depthwise convolution.
Layer grouped_conv_layer(std::string name, FeatureMap in, int out_channels, Window window, int groups,
                         bool has_bias = false);

/// Locally connected: a convolution whose outputs each have weights, and a bias, of their own (LeCun 1989,
/// Generalization and network design strategies, section 3.3). Costs as conv_layer; its work is one matrix
/// product per position, with a row for each sample.
Layer local_layer(std::string name, FeatureMap in, int out_channels, Window window, bool has_bias = false);

/// Transposed convolution: the gradient of a convolution's input, used forward (Dumoulin and Visin 2016,
/// arXiv 1603.07285, section 4). Its output is (size - 1) x stride - 2 x padding + kernel; every input value
/// is multiplied by a window of weights per output channel. Costs as conv_layer.
Layer conv_transpose_layer(std::string name, FeatureMap in, int out_channels, Window window,
                           bool has_bias = false);

/// Batch normalisation in training. Traffic: forward three passes (statistics read, normalise read, write),
/// backward five (two reads of input and output gradient, one write). 4 and 8 FLOPs per value. Keeps its
/// input. Without `has_scale` its only parameters are the biases.
Layer batch_norm_layer(std::string name, FeatureMap in, bool has_scale = true);

/// In-place ReLU. Keeps nothing itself, as if the next layer kept its output; lists of layers correct that
/// where no reader does (layer_graph.hpp), families do not for the ReLU before a mean of each channel.
Layer relu_layer(std::string name, std::vector<int> shape);

/// ReLU with a learned slope per channel (or feature) for values below 0 (He et al. 2015, arXiv 1502.01852,
/// section 2.1). 1 and 2 FLOPs per value, two passes forward. Backward four: input and output gradient read,
/// the input's gradient and, before their sum over a channel, those of the slopes written (PyTorch,
/// aten/src/ATen/native/Activation.cpp, _prelu_kernel_backward). Keeps its input.
Layer prelu_layer(std::string name, const std::vector<int>& shape);

/// Normalisation over neighbouring channels (AlexNet). Traffic: forward two passes, backward four (input,
/// output, and the gradients of both). About 10 and 20 FLOPs per value, over five channels. Keeps its input.
Layer local_response_norm_layer(std::string name, FeatureMap in);

/// x times its sigmoid (SiLU). Forward: 4 FLOPs per value (exponential, sum, quotient, product), two passes.
/// Backward: 7, from the formula and its derivative s(1 + x(1 - s)); three passes. Keeps its input.
Layer swish_layer(std::string name, const std::vector<int>& shape);

/// Logistic function. Forward: 3 FLOPs per value (exponential, sum, quotient), two passes. Backward: 3, from
/// the output (y - y^2 times the gradient); three passes. Keeps its output, as relu_layer() says.
Layer sigmoid_layer(std::string name, const std::vector<int>& shape);

/// Hyperbolic tangent. Forward: 5 FLOPs per value (product, exponential, difference, sum, quotient), two
/// passes. Backward: 3, from the output (1 - y^2 times the gradient); three passes. Keeps its output, as
/// relu_layer() says.
Layer tanh_layer(std::string name, const std::vector<int>& shape);

/// Keeps its input and one 8-byte index per output value (PyTorch).
Layer max_pool_layer(std::string name, FeatureMap in, Window window);
/// As above, with a square window.
Layer max_pool_layer(std::string name, FeatureMap in, int kernel, int stride, int padding);

/// Sum of two equal inputs. Backward passes the gradient on without memory traffic.
Layer add_layer(std::string name, std::vector<int> shape);

/// Product of two equal inputs, value by value. 1 and 2 FLOPs per value; forward three passes, backward five:
/// both inputs and the output's gradient read, both gradients written. Keeps both inputs.
Layer multiply_layer(std::string name, const std::vector<int>& shape);

/// Concatenates its inputs: copies them into an output of this shape: two passes, no arithmetic. Backward
/// passes views of the gradient on without memory traffic (PyTorch, CatBackward0). Keeps nothing.
Layer concat_layer(std::string name, const std::vector<int>& shape);

/// Mean over each channel. Keeps nothing (PyTorch, adaptive_avg_pool2d of one pixel is a mean).
Layer average_pool_layer(std::string name, FeatureMap in);
/// Mean over each window. Keeps its input (PyTorch, tools/autograd/derivatives.yaml, avg_pool2d: backward
/// reads self).
Layer average_pool_layer(std::string name, FeatureMap in, Window window);

/// y = x W^T + b for each row; without `has_bias` y = x W^T. Costs as conv_layer. Keeps its input.
Layer linear_layer(std::string name, LinearSize size, bool has_bias = true);
/// As above, for one row.
Layer linear_layer(std::string name, int in_features, int out_features);

/// The number of values of a map, as inputs of the fully connected layer `name`. Throws InputError if it is
/// 2^31 or more.
int flattened(const std::string& name, FeatureMap map);

/// Log-softmax and cross entropy over `classes` values. Keeps the probabilities.
Layer softmax_cross_entropy_layer(std::string name, int classes);

/// Sigmoid and binary cross entropy of each of `outputs` values: 6 FLOPs each forward (exponential, sum,
/// quotient, logarithm, product, sum), 2 backward (the probability minus the label, scaled). Keeps its input.
Layer sigmoid_cross_entropy_layer(std::string name, int outputs);

/// Margin of the label's class and scale of all classes, cos(t + m) s in place of cos t (Deng et al. 2019,
/// ArcFace, arXiv 1801.07698, equation 3; CosFace: cos t - m). A FLOP and two passes each way: classes
/// without the label are only scaled. Keeps nothing: backward scales the gradient.
Layer margin_layer(std::string name, const std::vector<int>& shape);

/// The output map of a layer, for the next one. The layer must have three output dimensions.
FeatureMap output_map(const Layer& layer);

}  // namespace trainyard

template <>
struct trainyard::config::Names<trainyard::LayerKind> {
  static constexpr std::string_view what = "layer kind";
  static constexpr std::array table = names_in<layer_kinds>();
};
