#pragma once
// A model written layer by layer: the key `layers` of a model file. A list of layers, each of which reads the
// one before it unless it names others; groups of layers are lists inside the list and may repeat. Shapes are
// inferred. Described in docs/models.md, "Write your own model".

#include "config/keys.hpp"
#include "workload/decoder.hpp"
#include "workload/layer.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A layer without keys of its own.
struct NoKeys {};

/// Height and width of a window or a map.
struct Extent {
  int height = 1, width = 1;
};

/// Zeros above and below, left and right of a map.
struct Padding {
  int height = 0, width = 0;
};

struct ListedConv {
  int out = 0;
  Extent kernel;
  int stride = 1;
  Padding padding = {};
  int groups = 1;
  std::optional<bool> bias = {};
};

/// A convolution of each channel alone.
struct ListedDepthwiseConv {
  Extent kernel;
  int stride = 1;
  Padding padding = {};
  std::optional<bool> bias = {};
};

struct ListedConvTranspose {
  int out = 0;
  Extent kernel;
  int stride = 1;
  Padding padding = {};
  std::optional<bool> bias = {};
};

/// A convolution whose outputs have weights of their own.
struct ListedLocal {
  int out = 0;
  Extent kernel;
  int stride = 1;
  Padding padding = {};
  std::optional<bool> bias = {};
};

struct ListedPool {
  Extent kernel;
  std::optional<int> stride = {};
  Padding padding = {};
  bool round_up = false;
};

struct ListedLinear {
  int out = 0;
  std::optional<bool> bias = {};
  std::optional<std::string> tied = {};  ///< name of the embedding whose table it multiplies by
  bool normalised = false;               ///< Layer::normalises_weights
};

struct ListedBatchNorm {
  bool scale = true;
};

struct ListedLayerNorm {
  bool bias = true;
};

struct ListedEmbedding {
  int entries = 0, features = 0;
  std::optional<std::string> tied = {};  ///< name of the embedding whose table it reads
};

/// Tables of features, of which a sample looks up rows.
struct ListedTables {
  std::vector<int> entries;
  int features = 0;
  int lookups = 1;
  bool sum = false;
  bool sparse = false;
  double most_frequent = 0;  ///< part of the samples that look up the most frequent row
};

struct ListedLstm {
  int hidden = 0;
  bool bidirectional = false;
};

struct ListedAdditiveAttention {
  std::vector<std::string> inputs;  ///< queries, keys
  int features = 0;
};

struct ListedPositions {
  std::optional<int> entries = {};
};

struct ListedAttention {
  int heads = 0;
  std::optional<int> kv_heads = {};
  AttentionKernel kernel = AttentionKernel::unfused;
  bool causal = false;
  bool dropout = false;
};

/// Names of the joined layers.
struct ListedJoin {
  std::vector<std::string> inputs;
};

/// Layers that may follow a layer in the same entry.
enum class FollowingLayer { batch_norm, layer_norm, relu, relu6, prelu, gelu, silu, sigmoid, tanh, dropout };

/// One entry of the list: one layer of a kind with those that follow it, or a group.
struct ListedLayer {
  std::optional<std::string> name;
  std::optional<std::string> from;
  std::optional<std::vector<int>> input;
  std::optional<ListedConv> conv;
  std::optional<ListedDepthwiseConv> depthwise_conv;
  std::optional<ListedConvTranspose> conv_transpose;
  std::optional<ListedLocal> local;
  std::optional<ListedLinear> linear;
  std::optional<ListedBatchNorm> batch_norm;
  std::optional<ListedLayerNorm> layer_norm;
  std::optional<NoKeys> rms_norm;
  std::optional<NoKeys> local_response_norm;
  std::optional<NoKeys> relu;
  std::optional<NoKeys> relu6;
  std::optional<NoKeys> prelu;
  std::optional<NoKeys> gelu;
  std::optional<NoKeys> silu;
  std::optional<NoKeys> sigmoid;
  std::optional<NoKeys> tanh;
  std::optional<NoKeys> swiglu;
  std::optional<NoKeys> geglu;
  std::optional<NoKeys> dropout;
  std::optional<ListedPool> max_pool;
  std::optional<ListedPool> average_pool;
  std::optional<NoKeys> global_pool;
  std::optional<ListedEmbedding> embedding;
  std::optional<ListedTables> tables;
  std::optional<ListedPositions> positions;
  std::optional<ListedAttention> attention;
  std::optional<ListedAdditiveAttention> additive_attention;
  std::optional<ListedLstm> lstm;
  std::optional<ListedJoin> add;
  std::optional<ListedJoin> multiply;
  std::optional<ListedJoin> concat;
  std::optional<ListedJoin> dot_interaction;
  std::optional<NoKeys> flatten;
  std::optional<NoKeys> tokens;
  std::optional<Extent> crop;
  std::optional<NoKeys> margin;
  std::optional<NoKeys> softmax_cross_entropy;
  std::optional<NoKeys> sigmoid_cross_entropy;
  std::vector<FollowingLayer> then = {};
  std::optional<int> repeat;
  std::optional<std::vector<ListedLayer>> layers;
};

/// The parts of a list of layers.
struct LayerList {
  std::vector<Layer> layers;           ///< in forward order; entries that only change a shape have none
  std::optional<int> sequence_length;  ///< tokens of a sample, if an embedding reads the input
};

/// The layers of a list. Layers of a group are called GROUP.LAYER, or GROUP.0.LAYER and so on if it repeats;
/// a layer without a name is called after its kind, with a number: conv1. Blocks (Layer::block) are the
/// longest parts inside which several tensors are alive, extended to the outermost group around them. A
/// tensor that several layers keep for backward is kept by the first. A ReLU keeps its output unless a reader
/// keeps that tensor. Throws InputError with the key path of the first error: a name that does not exist,
/// shapes that do not fit, an output that nothing reads.
LayerList listed_layers(const std::vector<ListedLayer>& list);

namespace config {

template <>
struct Names<FollowingLayer> {
  static constexpr std::string_view what = "layer";
  static constexpr std::array table{Name{"batch_norm", FollowingLayer::batch_norm, ""},
                                    Name{"layer_norm", FollowingLayer::layer_norm, ""},
                                    Name{"relu", FollowingLayer::relu, ""},
                                    Name{"relu6", FollowingLayer::relu6, ""},
                                    Name{"prelu", FollowingLayer::prelu, ""},
                                    Name{"gelu", FollowingLayer::gelu, ""},
                                    Name{"silu", FollowingLayer::silu, ""},
                                    Name{"sigmoid", FollowingLayer::sigmoid, ""},
                                    Name{"tanh", FollowingLayer::tanh, ""},
                                    Name{"dropout", FollowingLayer::dropout, ""}};
};

template <>
struct Keys<NoKeys> {
  static auto table() { return keys(); }
};

template <>
struct Keys<Extent> {
  static constexpr std::array<std::string_view, 2> short_form{"height", "width"};
  static auto table() {
    return keys(required("height", &Extent::height, "values from top to bottom").at_least(1).at_most(65'536),
                required("width", &Extent::width, "values from left to right").at_least(1).at_most(65'536));
  }
};

template <>
struct Keys<Padding> {
  static constexpr std::array<std::string_view, 2> short_form{"height", "width"};
  static auto table() {
    return keys(
        optional("height", &Padding::height, "zeros above and below the map").at_least(0).at_most(65'536),
        optional("width", &Padding::width, "zeros left and right of the map").at_least(0).at_most(65'536));
  }
};

/// The keys that all windows have.
template <class T>
constexpr auto kernel_key() {
  return required("kernel", &T::kernel, "height and width of the window; one number if they are equal");
}
template <class T>
constexpr auto stride_key() {
  return optional("stride", &T::stride,
                  "distance of neighbouring windows; default: 1, of a pooling its kernel")
      .at_least(1)
      .at_most(65'536);
}
template <class T>
constexpr auto padding_key() {
  return optional("padding", &T::padding, "zeros on each side of the map: height and width, or one number");
}
template <class T>
constexpr auto bias_key() {
  return optional("bias", &T::bias,
                  "a bias per output; default: true, false if batch_norm follows in `then`");
}
template <class T>
constexpr auto tied_key() {
  return optional("tied", &T::tied, "name of an earlier embedding whose table it uses, too");
}
template <class T>
constexpr auto channels_key() {
  return required("out", &T::out, "channels of the output").at_least(1).at_most(10'000'000);
}

template <>
struct Keys<ListedConv> {
  static auto table() {
    using L = ListedConv;
    return keys(channels_key<L>(), kernel_key<L>(), stride_key<L>(), padding_key<L>(),
                optional("groups", &L::groups, "groups of channels that do not see each other")
                    .at_least(1)
                    .at_most(10'000'000),
                bias_key<L>());
  }
};

template <>
struct Keys<ListedDepthwiseConv> {
  static auto table() {
    using L = ListedDepthwiseConv;
    return keys(kernel_key<L>(), stride_key<L>(), padding_key<L>(), bias_key<L>());
  }
};

template <>
struct Keys<ListedConvTranspose> {
  static auto table() {
    using L = ListedConvTranspose;
    return keys(channels_key<L>(), kernel_key<L>(), stride_key<L>(), padding_key<L>(), bias_key<L>());
  }
};

template <>
struct Keys<ListedLocal> {
  static auto table() {
    using L = ListedLocal;
    return keys(channels_key<L>(), kernel_key<L>(), stride_key<L>(), padding_key<L>(), bias_key<L>());
  }
};

template <>
struct Keys<ListedPool> {
  static constexpr std::array<std::string_view, 1> short_form{"kernel"};
  static auto table() {
    using L = ListedPool;
    return keys(kernel_key<L>(), stride_key<L>(), padding_key<L>(),
                optional("round_up", &L::round_up,
                         "true: also windows that end beyond the map (PyTorch: ceil_mode)"));
  }
};

template <>
struct Keys<ListedLinear> {
  static constexpr std::array<std::string_view, 1> short_form{"out"};
  static auto table() {
    using L = ListedLinear;
    return keys(
        required("out", &L::out, "outputs").at_least(1).at_most(10'000'000), bias_key<L>(), tied_key<L>(),
        optional("normalised", &L::normalised,
                 "true: the weights of each output are scaled to length 1 (cosines, face recognition)"));
  }
};

template <>
struct Keys<ListedBatchNorm> {
  static auto table() {
    return keys(
        optional("scale", &ListedBatchNorm::scale, "true: it learns a scale and a bias; false: only a bias"));
  }
};

template <>
struct Keys<ListedLayerNorm> {
  static auto table() {
    return keys(
        optional("bias", &ListedLayerNorm::bias, "true: it learns a scale and a bias; false: only a scale"));
  }
};

template <>
struct Keys<ListedEmbedding> {
  static auto table() {
    using L = ListedEmbedding;
    return keys(
        required("entries", &L::entries, "rows of the table: the vocabulary").at_least(1).at_most(10'000'000),
        required("features", &L::features, "values of a row").at_least(1).at_most(10'000'000), tied_key<L>());
  }
};

template <>
struct Keys<ListedTables> {
  static auto table() {
    using L = ListedTables;
    constexpr double most_entries = 2e9;
    return keys(
        required("entries", &L::entries, "rows of each table").at_least(1).at_most(most_entries),
        required("features", &L::features, "values of a row").at_least(1).at_most(10'000'000),
        optional("lookups", &L::lookups, "rows of each table that a sample looks up")
            .at_least(1)
            .at_most(1'000'000),
        optional("sum", &L::sum, "true: the rows of a table are added up (an embedding bag)"),
        optional("sparse", &L::sparse,
                 "true: only the looked-up rows have gradients and are updated; false: whole tables"),
        optional("most_frequent", &L::most_frequent,
                 "part of the samples that look up the most frequent row of all tables, for stacks with "
                 "repeated_rows")
            .between(0, 1));
  }
};

template <>
struct Keys<ListedLstm> {
  static constexpr std::array<std::string_view, 1> short_form{"hidden"};
  static auto table() {
    return keys(required("hidden", &ListedLstm::hidden, "outputs per token and direction")
                    .at_least(1)
                    .at_most(1'000'000),
                optional("bidirectional", &ListedLstm::bidirectional,
                         "true: a second one reads the tokens backwards; both outputs are concatenated"));
  }
};

template <>
struct Keys<ListedAdditiveAttention> {
  static auto table() {
    using L = ListedAdditiveAttention;
    return keys(
        required("inputs", &L::inputs, "names of two layers: queries, and tokens that they attend to"),
        required("features", &L::features, "features in which queries and keys are added")
            .at_least(1)
            .at_most(1'000'000));
  }
};

template <>
struct Keys<ListedPositions> {
  static constexpr std::array<std::string_view, 1> short_form{"entries"};
  static auto table() {
    return keys(optional("entries", &ListedPositions::entries, "rows of the table; default: one per token")
                    .at_least(1)
                    .at_most(10'000'000));
  }
};

template <>
struct Keys<ListedAttention> {
  static auto table() {
    using L = ListedAttention;
    return keys(
        required("heads", &L::heads, "attention heads").at_least(1).at_most(65'536),
        optional("kv_heads", &L::kv_heads, "heads of keys and of values; default: heads")
            .at_least(1)
            .at_most(65'536),
        optional("kernel", &L::kernel, "kernels of the attention"),
        optional("causal", &L::causal, "true: tokens attend to earlier ones; a flash kernel skips the rest"),
        optional("dropout", &L::dropout, "true: dropout of the probabilities, of the unfused kernels"));
  }
};

template <>
struct Keys<ListedJoin> {
  static constexpr std::array<std::string_view, 1> short_form{"inputs"};
  static auto table() {
    return keys(
        required("inputs", &ListedJoin::inputs,
                 "names of the joined layers; `previous`: the entry before, `input`: that of the group"));
  }
};

template <>
struct Keys<ListedLayer> {
  static constexpr bool names_key = true;
  static constexpr std::string_view definition = "layer";
  static auto table() {
    using L = ListedLayer;
    return keys(
        optional("name", &L::name, "name of the layer or group; default: its kind and a number"),
        optional("from", &L::from, "name of the layer it reads; default: the entry before"),
        optional("input", &L::input,
                 "first entry: shape of a sample: [channels, height, width], [tokens] for an embedding, "
                 "[lookups] for tables, [tokens, features] or [features]; further ones need a name")
            .at_least(1)
            .at_most(10'000'000),
        optional("conv", &L::conv, "convolution"),
        optional("depthwise_conv", &L::depthwise_conv, "convolution of each channel alone"),
        optional("conv_transpose", &L::conv_transpose, "transposed convolution, which enlarges a map"),
        optional("local", &L::local, "locally connected: a convolution with weights for each position"),
        optional("linear", &L::linear, "fully connected: of a vector, or of each token"),
        optional("batch_norm", &L::batch_norm, "batch normalisation"),
        optional("layer_norm", &L::layer_norm,
                 "layer normalisation of each token, or of each pixel's channels"),
        optional("rms_norm", &L::rms_norm, "normalisation of each token by the root mean square"),
        optional("local_response_norm", &L::local_response_norm,
                 "normalisation of each value by those of neighbouring channels (AlexNet)"),
        optional("relu", &L::relu, "rectified linear unit"),
        optional("relu6", &L::relu6, "rectified linear unit of at most 6"),
        optional("prelu", &L::prelu, "rectified linear unit with a learned slope per channel below 0"),
        optional("gelu", &L::gelu, "Gaussian error linear unit"),
        optional("silu", &L::silu, "values times their sigmoid (SiLU, Swish)"),
        optional("sigmoid", &L::sigmoid, "logistic function"),
        optional("tanh", &L::tanh, "hyperbolic tangent"),
        optional("swiglu", &L::swiglu, "one half of the features times the SiLU of the other"),
        optional("geglu", &L::geglu, "one half of the features times the GELU of the other"),
        optional("dropout", &L::dropout, "random values set to zero"),
        optional("max_pool", &L::max_pool, "maximum of each window"),
        optional("average_pool", &L::average_pool, "mean of each window"),
        optional("global_pool", &L::global_pool, "mean of each channel"),
        optional("embedding", &L::embedding, "table of which every token reads a row"),
        optional("tables", &L::tables, "tables of features, of each of which a sample looks up rows"),
        optional("positions", &L::positions, "table of positions added to the tokens"),
        optional("attention", &L::attention,
                 "attention of tokens that hold queries, keys and values, concatenated"),
        optional("additive_attention", &L::additive_attention,
                 "attention of one layer's tokens to another's by a small network (Bahdanau)"),
        optional("lstm", &L::lstm, "long short-term memory over the tokens"),
        optional("add", &L::add, "sum of two layers of equal shape"),
        optional("multiply", &L::multiply, "product of two layers of equal shape, value by value"),
        optional("concat", &L::concat, "channels or features of several layers, concatenated"),
        optional("dot_interaction", &L::dot_interaction,
                 "scalar products of each pair of vectors: of tables' rows and vectors of as many features"),
        optional("flatten", &L::flatten, "map or tokens to vector; costs nothing"),
        optional("tokens", &L::tokens, "map to one token per pixel; costs nothing"),
        optional("crop", &L::crop, "middle of a map: its height and width; costs nothing"),
        optional("margin", &L::margin, "margin of the label's class, and scale (ArcFace, CosFace)"),
        optional("softmax_cross_entropy", &L::softmax_cross_entropy, "softmax and loss"),
        optional("sigmoid_cross_entropy", &L::sigmoid_cross_entropy,
                 "sigmoid and loss of each value of a vector"),
        optional("then", &L::then, "layers without keys that follow in the same entry"),
        optional("repeat", &L::repeat, "how often the group's `layers` follow each other; default: once")
            .at_least(1)
            .at_most(10'000),
        optional("layers", &L::layers, "the layers of a group"));
  }
};

}  // namespace config
}  // namespace trainyard
