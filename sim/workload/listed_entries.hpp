#pragma once
// The keys of the kinds of layers that an entry of a list can have (layer_list.hpp), and those that may
// follow in its `then`. Kinds of image models since 2018 are in listed_vision_entries.hpp.

#include "config/keys.hpp"
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
  std::optional<std::string> tied = {};  ///< name of the convolution whose weights it uses
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
  bool frozen = false;  ///< its statistics and weights are constants
};

struct ListedLayerNorm {
  bool bias = true;
  bool scale = true;
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
enum class FollowingLayer {
  batch_norm,
  layer_norm,
  group_norm,
  layer_scale,
  relu,
  relu6,
  prelu,
  gelu,
  silu,
  sigmoid,
  tanh,
  dropout,
  drop_path
};

namespace config {

template <>
struct Names<FollowingLayer> {
  static constexpr std::string_view what = "layer";
  static constexpr std::array table{Name{"batch_norm", FollowingLayer::batch_norm, ""},
                                    Name{"layer_norm", FollowingLayer::layer_norm, ""},
                                    Name{"group_norm", FollowingLayer::group_norm, ""},
                                    Name{"layer_scale", FollowingLayer::layer_scale, ""},
                                    Name{"relu", FollowingLayer::relu, ""},
                                    Name{"relu6", FollowingLayer::relu6, ""},
                                    Name{"prelu", FollowingLayer::prelu, ""},
                                    Name{"gelu", FollowingLayer::gelu, ""},
                                    Name{"silu", FollowingLayer::silu, ""},
                                    Name{"sigmoid", FollowingLayer::sigmoid, ""},
                                    Name{"tanh", FollowingLayer::tanh, ""},
                                    Name{"dropout", FollowingLayer::dropout, ""},
                                    Name{"drop_path", FollowingLayer::drop_path, ""}};
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
                bias_key<L>(),
                optional("tied", &L::tied, "name of an earlier convolution whose weights and bias it uses"));
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
        optional("scale", &ListedBatchNorm::scale, "true: it learns a scale and a bias; false: only a bias"),
        optional("frozen", &ListedBatchNorm::frozen,
                 "true: statistics, scale and bias are constants (detectors)"));
  }
};

template <>
struct Keys<ListedLayerNorm> {
  static auto table() {
    return keys(
        optional("bias", &ListedLayerNorm::bias, "true: it learns a scale and a bias; false: only a scale"),
        optional("scale", &ListedLayerNorm::scale, "false: it learns neither a scale nor a bias"));
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

}  // namespace config
}  // namespace trainyard
