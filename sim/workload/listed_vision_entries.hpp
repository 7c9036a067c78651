#pragma once
// The keys of kinds of layers of image models since 2018 that an entry of a list can have (layer_list.hpp):
// windows of tokens, attention to other tokens, maps that grow, parts of tensors.

#include "config/keys.hpp"
#include "workload/transformer_layers.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Attention inside square windows of the tokens of a square map.
struct ListedWindowAttention {
  int heads = 0;
  int window = 7;  ///< height and width in tokens
  bool shifted = false;
  bool cosine = false;  ///< Swin V2
  AttentionKernel kernel = AttentionKernel::unfused;
};

struct ListedCrossAttention {
  std::vector<std::string> inputs;  ///< queries; keys and values, concatenated
  int heads = 0;
  AttentionKernel kernel = AttentionKernel::unfused;
};

/// Heads of queries, keys and values that are concatenated.
struct ListedHeads {
  int heads = 0;
};

/// A factor of a map's height and width.
struct ListedFactor {
  int factor = 2;
};

enum class SlicedDimension { features, tokens };

/// Neighbouring features or tokens of a tensor.
struct ListedSlice {
  int first = 0, size = 0;
  SlicedDimension of = SlicedDimension::features;
};

namespace config {

template <>
struct Names<SlicedDimension> {
  static constexpr std::string_view what = "dimension";
  static constexpr std::array table{
      Name{"features", SlicedDimension::features, "features of tokens or of a vector, channels of a map"},
      Name{"tokens", SlicedDimension::tokens, "tokens"}};
};

template <class T>
constexpr auto heads_key() {
  return required("heads", &T::heads, "attention heads").at_least(1).at_most(65'536);
}

template <>
struct Keys<ListedWindowAttention> {
  static auto table() {
    using L = ListedWindowAttention;
    return keys(
        heads_key<L>(),
        optional("window", &L::window, "height and width of a window in tokens").at_least(1).at_most(65'536),
        optional("shifted", &L::shifted, "true: a mask keeps parts of a window apart"),
        optional("cosine", &L::cosine,
                 "true: scores are scaled cosines, their bias comes from a small network (Swin V2)"),
        optional("kernel", &L::kernel, "kernels of the attention"));
  }
};

template <>
struct Keys<ListedCrossAttention> {
  static auto table() {
    using L = ListedCrossAttention;
    return keys(required("inputs", &L::inputs,
                         "names of two layers: queries; keys and values, concatenated in features"),
                heads_key<L>(), optional("kernel", &L::kernel, "kernels of the attention"));
  }
};

template <>
struct Keys<ListedHeads> {
  static constexpr std::array<std::string_view, 1> short_form{"heads"};
  static auto table() { return keys(heads_key<ListedHeads>()); }
};

template <>
struct Keys<ListedFactor> {
  static constexpr std::array<std::string_view, 1> short_form{"factor"};
  static auto table() {
    return keys(
        required("factor", &ListedFactor::factor, "factor of height and width").at_least(2).at_most(64));
  }
};

template <>
struct Keys<ListedSlice> {
  static auto table() {
    using L = ListedSlice;
    return keys(optional("first", &L::first, "number of the first one; they count from 0")
                    .at_least(0)
                    .at_most(10'000'000),
                required("size", &L::size, "how many").at_least(1).at_most(10'000'000),
                optional("of", &L::of, "dimension that is cut"));
  }
};

}  // namespace config
}  // namespace trainyard
