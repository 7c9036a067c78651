#pragma once
// A model written layer by layer: the key `layers` of a model file. A list of layers, each of which reads the
// one before it unless it names others; groups of layers are lists inside the list and may repeat. Shapes are
// inferred. Described in docs/models.md, "Write your own model".

#include "config/keys.hpp"
#include "workload/layer.hpp"
#include "workload/listed_entries.hpp"
#include "workload/listed_vision_entries.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

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
  std::optional<NoKeys> group_norm;
  std::optional<NoKeys> response_norm;
  std::optional<NoKeys> layer_scale;
  std::optional<NoKeys> drop_path;
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
  std::optional<ListedWindowAttention> window_attention;
  std::optional<ListedCrossAttention> cross_attention;
  std::optional<ListedAdditiveAttention> additive_attention;
  std::optional<ListedHeads> head_norm;
  std::optional<ListedHeads> rope;
  std::optional<ListedLstm> lstm;
  std::optional<ListedJoin> add;
  std::optional<ListedJoin> multiply;
  std::optional<ListedJoin> modulate;
  std::optional<ListedJoin> concat;
  std::optional<ListedJoin> join_tokens;
  std::optional<ListedJoin> dot_interaction;
  std::optional<NoKeys> flatten;
  std::optional<NoKeys> tokens;
  std::optional<Extent> map;
  std::optional<Extent> crop;
  std::optional<ListedSlice> slice;
  std::optional<NoKeys> reorder;
  std::optional<ListedFactor> merge_patches;
  std::optional<ListedFactor> upsample;
  std::optional<NoKeys> margin;
  std::optional<NoKeys> softmax_cross_entropy;
  std::optional<NoKeys> sigmoid_cross_entropy;
  std::optional<NoKeys> squared_error;
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
        optional("group_norm", &L::group_norm, "normalisation of groups of a map's channels"),
        optional("response_norm", &L::response_norm, "global response normalisation of tokens (ConvNeXt V2)"),
        optional("layer_scale", &L::layer_scale, "learned factor for each channel or feature"),
        optional("drop_path", &L::drop_path, "random samples set to zero (stochastic depth)"),
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
        optional("window_attention", &L::window_attention,
                 "attention inside windows of a square map's tokens (Swin)"),
        optional("cross_attention", &L::cross_attention, "attention of one layer's tokens to another's"),
        optional("additive_attention", &L::additive_attention,
                 "attention of one layer's tokens to another's by a small network (Bahdanau)"),
        optional("head_norm", &L::head_norm, "norm of each head's queries and keys (root mean square)"),
        optional("rope", &L::rope, "rotation of queries and keys by their position"),
        optional("lstm", &L::lstm, "long short-term memory over the tokens"),
        optional("add", &L::add, "sum of two layers of equal shape, or with one summand per channel"),
        optional("multiply", &L::multiply,
                 "product of two layers of equal shape, value by value, or with one factor per channel"),
        optional(
            "modulate", &L::modulate,
            "values with a factor and a summand per channel: a layer, and a vector of twice its features"),
        optional("concat", &L::concat, "channels or features of several layers, concatenated"),
        optional("join_tokens", &L::join_tokens, "tokens of several layers, one after the other"),
        optional("dot_interaction", &L::dot_interaction,
                 "scalar products of each pair of vectors: of tables' rows and vectors of as many features"),
        optional("flatten", &L::flatten, "map or tokens to vector; costs nothing"),
        optional("tokens", &L::tokens, "map to one token per pixel; costs nothing"),
        optional("map", &L::map, "tokens to a map of this height and width; costs nothing"),
        optional("crop", &L::crop, "middle of a map: its height and width; costs nothing"),
        optional("slice", &L::slice, "neighbouring features or tokens; costs nothing"),
        optional("reorder", &L::reorder, "a copy in another order: windows, shifts"),
        optional("merge_patches", &L::merge_patches,
                 "squares of a map's tokens, each joined to one token: their height"),
        optional("upsample", &L::upsample, "map of so many times the height and width, nearest values"),
        optional("margin", &L::margin, "margin of the label's class, and scale (ArcFace, CosFace)"),
        optional("softmax_cross_entropy", &L::softmax_cross_entropy, "softmax and loss"),
        optional("sigmoid_cross_entropy", &L::sigmoid_cross_entropy,
                 "sigmoid and loss of each value of a vector"),
        optional("squared_error", &L::squared_error, "mean of squared differences, the loss of all values"),
        optional("then", &L::then, "layers without keys that follow in the same entry"),
        optional("repeat", &L::repeat, "how often the group's `layers` follow each other; default: once")
            .at_least(1)
            .at_most(10'000),
        optional("layers", &L::layers, "the layers of a group"));
  }
};

}  // namespace config
}  // namespace trainyard
