#include "config/document.hpp"
#include "workload/listed_kinds.hpp"
#include "workload/transformer_layers.hpp"
#include "workload/vision_layers.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

/// Features of a head of queries, keys and values that lie in one tensor.
int head_features(const ListedValues& in, int heads) { return in.shape[1] / (3 * heads); }

/// Positions relative to each other in a window, along one direction.
int distances(int window) { return 2 * window - 1; }

/// The parameters of the bias of scores: a table with a row for each pair of distances (Liu et al. 2021,
/// Swin, arXiv 2103.14030, equation 4), or a network of 512 hidden features that computes it (Swin V2, arXiv
/// 2111.09883, section 3.3).
std::vector<Parameter> bias_parameters(const std::string& name, const ListedWindowAttention& attention,
                                       int window) {
  constexpr double hidden = 512;
  const double heads = attention.heads;
  if (!attention.cosine)
    return {{name + ".relative_position_bias_table", heads * distances(window) * distances(window)}};
  return {{name + ".cpb_mlp.0.weight", 2 * hidden},
          {name + ".cpb_mlp.0.bias", hidden},
          {name + ".cpb_mlp.2.weight", heads * hidden}};
}

/// The mask of shifted windows: it has no gradient.
Layer mask_layer(const std::string& name, const std::vector<int>& scores) {
  Layer layer = position_bias_layer(name, scores, 0);
  layer.backward_flops = Flops();
  layer.backward_rw_elements = 0;
  return layer;
}

/// A factor per head of the scores.
Layer score_scale_layer(const std::string& name, const std::vector<int>& scores, int heads) {
  Layer layer = layer_scale_layer(name, scores);
  layer.parameters.front().elements = heads;
  return layer;
}

/// Attention of all windows: each is as many heads of its own.
std::vector<Layer> window_core(const std::string& name, const ListedWindowAttention& attention, int window,
                               const TransformerSize& size) {
  const bool is_flash = attention.kernel == AttentionKernel::flash;
  const BlockParts parts{
      .dropout = false, .attention = attention.kernel, .position_bias = !is_flash, .masks_keys = is_flash};
  std::vector<Layer> layers;
  if (attention.cosine) {
    layers.push_back(head_norm_layer(name + ".norm", size, QkNorm::heads, LayerKind::rms_norm));
    layers.back().parameters.clear();
    if (is_flash) layers.back().parameters = {{name + ".logit_scale", static_cast<double>(attention.heads)}};
  }
  for (Layer& layer : attention_core(name, size, parts)) {
    const bool is_biased = layer.kind == LayerKind::position_bias || is_flash;
    if (is_biased) layer.parameters = bias_parameters(name, attention, window);
    const std::vector<int> scores = layer.out_shape;
    layer.has_biased_scores = false;  // products and a sum of their own, not the fallback of T5's attention
    if (layer.kind == LayerKind::position_bias && attention.cosine)
      layers.push_back(score_scale_layer(name + ".logit_scale", scores, attention.heads));
    layers.push_back(std::move(layer));
    if (layers.back().kind == LayerKind::position_bias && attention.shifted)
      layers.push_back(mask_layer(name + ".mask", scores));
  }
  return layers;
}

}  // namespace

int ListedKinds::side_of(std::string_view kind, const Values& in) const {
  const int side = is_tokens(in) ? static_cast<int>(std::lround(std::sqrt(in.shape[0]))) : 0;
  if (side * side != (is_tokens(in) ? in.shape[0] : 1))
    refuse_shape(kind, in, "the tokens of a square map", "a square image, and 'tokens' before it");
  return side;
}

ListedValues ListedKinds::append(const std::string& name, const ListedWindowAttention& attention,
                                 std::string_view kind, const Values& in) {
  const int side = side_of(kind, in);
  const int window = std::min(attention.window, side);
  if (side % window != 0)
    refuse_key(path_, fmt::format("windows of {0} x {0} tokens do not divide {1} x {1}", window, side),
               "a divisor: padded windows are not modelled");
  if (in.shape[1] % (3 * attention.heads) != 0)
    refuse_key(
        path_,
        fmt::format("{} features are not queries, keys and values of {} heads", in.shape[1], attention.heads),
        "three times the features from the 'linear' layer before it");
  const int windows = (side / window) * (side / window);
  const int width = head_features(in, attention.heads);
  const int heads = attention.heads * windows;
  require_size({heads, window * window, window * window});
  const TransformerSize size{.sequence = window * window,
                             .hidden = heads * width,
                             .heads = heads,
                             .intermediate = 0,
                             .head_dim = width};
  const Values context = add_core(window_core(name, attention, window, size), in, in);
  return {{in.shape[0], in.shape[1] / 3}, context.tensor};
}

ListedValues ListedKinds::append(const std::string& name, const ListedCrossAttention& attention,
                                 std::string_view kind, const Values&) {
  const std::vector<Values> in = named_inputs(attention.inputs);
  if (in.size() != 2)
    refuse_key(path_, fmt::format("'{}' of {} inputs", kind, in.size()),
               "write two names: 'inputs: [queries, keys_and_values]'");
  for (const Values& values : in) {
    if (!is_tokens(values)) refuse_shape(kind, values, "[tokens, features]", "tokens for both inputs");
  }
  const int features = in[0].shape[1];
  if (features % attention.heads != 0 || in[1].shape[1] != 2 * features)
    refuse_key(path_,
               fmt::format("{} features of queries and {} of keys and values do not fit to {} heads",
                           features, in[1].shape[1], attention.heads),
               "as many features for keys, and for values, as for queries: a multiple of the heads");
  require_size({attention.heads, in[0].shape[0], in[1].shape[0]});
  const TransformerSize size{.sequence = in[0].shape[0],
                             .hidden = features,
                             .heads = attention.heads,
                             .intermediate = 0,
                             .kv_sequence = in[1].shape[0]};
  const std::vector<Layer> core =
      attention_core(name, size, {.dropout = false, .attention = attention.kernel});
  return {in[0].shape, add_core(core, in[0], in[1]).tensor};
}

ListedValues ListedKinds::append(const std::string& name, const ListedHeads& heads, std::string_view kind,
                                 const Values& in) {
  if (!is_tokens(in) || in.shape[1] % (3 * heads.heads) != 0)
    refuse_shape(kind, in, fmt::format("tokens with queries, keys and values of {} heads", heads.heads),
                 "three times the features from the 'linear' layer before it");
  const int width = head_features(in, heads.heads);
  const TransformerSize size{
      .sequence = in.shape[0], .hidden = heads.heads * width, .heads = heads.heads, .intermediate = 0};
  if (kind == "head_norm")
    return add(head_norm_layer(name, size, QkNorm::heads, LayerKind::rms_norm), in.shape, {in});
  return add(rope_layer(name, {2 * heads.heads, in.shape[0], width}), in.shape, {in});
}

ListedValues ListedKinds::append(const std::string& name, const ListedFactor& factor, std::string_view kind,
                                 const Values& in) {
  if (kind == "upsample") {
    require_map(kind, in);
    require_size({in.shape[0], in.shape[1] * factor.factor, in.shape[2] * factor.factor});
    return add_shaped(upsample_layer(name, map_of(in), factor.factor), in);
  }
  const int side = side_of(kind, in);
  if (side % factor.factor != 0)
    refuse_key(path_, fmt::format("squares of {0} x {0} tokens do not divide {1} x {1}", factor.factor, side),
               "a divisor");
  const int joined = factor.factor * factor.factor;
  return add_shaped(copy_layer(name, in.shape, {in.shape[0] / joined, in.shape[1] * joined}), in);
}

ListedValues ListedKinds::append(const std::string&, const ListedSlice& slice, std::string_view kind,
                                 const Values& in) {
  const bool of_tokens = slice.of == SlicedDimension::tokens;
  if (of_tokens && !is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "of: features");
  std::vector<int> shape = in.shape;
  int& whole = of_tokens || is_map(in) ? shape.front() : shape.back();
  if (slice.first + slice.size > whole)
    refuse_key(
        path_,
        fmt::format("{} from number {} on are no part of {}", slice.size, slice.first, shape_text(in.shape)),
        fmt::format("at most {} together", whole));
  whole = slice.size;
  double values = 1;
  for (const int size : shape) values *= size;
  return {std::move(shape), graph_.add_slice(in.tensor, values)};
}

}  // namespace trainyard
