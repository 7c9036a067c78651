#include "workload/listed_kinds.hpp"

#include "config/document.hpp"
#include "workload/vision_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <utility>

namespace trainyard {

namespace {

/// Rows that a normalisation or a loss reads, and their features.
LinearSize rows_of(const ListedValues& in) {
  if (is_map(in)) return {in.shape[1] * in.shape[2], in.shape[0], in.shape[0]};
  if (is_tokens(in)) return {in.shape[0], in.shape[1], in.shape[1]};
  return {1, in.shape[0], in.shape[0]};
}

}  // namespace

std::string shape_text(const std::vector<int>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

void ListedKinds::begin(std::string path, bool is_normalised) {
  path_ = std::move(path);
  is_normalised_ = is_normalised;
}

void ListedKinds::refuse_shape(std::string_view kind, const Values& in, std::string_view expected,
                               std::string hint) const {
  refuse_key(
      path_,
      fmt::format("'{}' reads {}, but its input has the shape {}", kind, expected, shape_text(in.shape)),
      std::move(hint));
}

void ListedKinds::require_map(std::string_view kind, const Values& in) const {
  if (!is_map(in))
    refuse_shape(kind, in, "a map of three dimensions", "[channels, height, width], before any 'flatten'");
}

void ListedKinds::require_size(const std::vector<int>& shape) const {
  double values = 1;
  for (const int size : shape) values *= size;
  if (values > most_listed_values)
    refuse_key(path_,
               fmt::format("a tensor of shape {} has more than 2^31 values per sample", shape_text(shape)),
               "reduce its size");
}

void ListedKinds::require_window(const Values& in, const Window& window) const {
  const FeatureMap map = map_of(in);
  if (map.height + 2 * window.pad_h < window.kernel_h || map.width + 2 * window.pad_w < window.kernel_w)
    refuse_key(
        path_,
        fmt::format("a window of {} x {} does not fit into {} with {} and {} zeros on each side",
                    window.kernel_h, window.kernel_w, shape_text(in.shape), window.pad_h, window.pad_w),
        "a smaller kernel, more padding or a larger input");
}

void ListedKinds::require_weights(double weights) const {
  if (weights > most_listed_values)
    refuse_key(path_, "a value needs more than 2^31 weights", "a smaller kernel");
}

void ListedKinds::refuse_length(std::size_t most, std::string_view what) const {
  refuse_key(path_, fmt::format("the list has more than {} {}", most, what), "smaller 'repeat'");
}

void ListedKinds::require_values(const Values& in) const {
  if (graph_.is_loss(in.tensor))
    refuse_key(path_, "a layer cannot read a loss", "read the layer before the loss: add 'from: NAME'");
}

ListedValues ListedKinds::add(Layer layer, std::vector<int> shape, const std::vector<Values>& in) {
  require_size(shape);
  if (graph_.size() >= most_listed_layers) refuse_length(most_listed_layers, "layers");
  for (const Values& values : in) require_values(values);
  std::vector<int> tensors;
  for (const Values& values : in) tensors.push_back(values.tensor);
  return {std::move(shape), graph_.add(std::move(layer), tensors, path_)};
}

ListedValues ListedKinds::add_same(Layer layer, const Values& in) {
  return add(std::move(layer), in.shape, {in});
}

ListedValues ListedKinds::add_shaped(Layer layer, const Values& in) {
  std::vector<int> shape = layer.out_shape;
  return add(std::move(layer), std::move(shape), {in});
}

ListedValues ListedKinds::append(const std::string& name, const ListedLinear& linear, std::string_view kind,
                                 const Values& in) {
  if (is_map(in) && (in.shape[1] != 1 || in.shape[2] != 1))
    refuse_shape(kind, in, "a vector or tokens", "'flatten', 'global_pool' or 'tokens' before it");
  const LinearSize size = is_tokens(in) ? LinearSize{in.shape[0], in.shape[1], linear.out}
                                        : LinearSize{1, in.shape[0], linear.out};
  const bool with_bias = has_bias(linear.bias);
  Layer layer = linear.tied ? tied_linear_layer(name, size, with_bias) : linear_layer(name, size, with_bias);
  if (linear.tied)
    layer.tied_to = required_table(*linear.tied, {.rows = 0, .entries = size.out, .features = size.in});
  if (linear.tied && linear.normalised)
    refuse_key(config::join(path_, "normalised"), "the weights are those of an embedding",
               "remove it, or 'tied'");
  layer.normalises_weights = linear.normalised;
  return add(std::move(layer), is_tokens(in) ? std::vector{size.rows, size.out} : std::vector{size.out},
             {in});
}

ListedValues ListedKinds::append(const std::string& name, const ListedBatchNorm& norm, std::string_view kind,
                                 const Values& in) {
  if (is_tokens(in)) refuse_shape(kind, in, "a map or a vector", "'layer_norm' for tokens");
  const FeatureMap map = is_map(in) ? map_of(in) : FeatureMap{in.shape[0], 1, 1};
  if (norm.frozen) return add_same(frozen_norm_layer(name, map), in);
  return add_same(batch_norm_layer(name, map, norm.scale), in);
}

ListedValues ListedKinds::append(const std::string& name, const ListedLayerNorm& norm, std::string_view,
                                 const Values& in) {
  const LinearSize size = rows_of(in);
  Layer layer = layer_norm_layer(name, size.rows, size.in, norm.bias);
  if (!norm.scale) layer.parameters.clear();
  return add_same(std::move(layer), in);
}

ListedValues ListedKinds::append(const std::string& name, const NoKeys&, std::string_view kind,
                                 const Values& in) {
  if (kind == "rms_norm") return add_same(rms_norm_layer(name, rows_of(in).rows, rows_of(in).in), in);
  if (kind == "swiglu" || kind == "geglu") return add_gate(name, kind, in);
  if (kind == "softmax_cross_entropy" || kind == "sigmoid_cross_entropy" || kind == "squared_error")
    return add_loss(name, kind, in);
  if (kind == "group_norm") {
    require_map(kind, in);
    return add_same(group_norm_layer(name, map_of(in)), in);
  }
  if (kind == "response_norm") {
    if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "'tokens' before it");
    return add_same(response_norm_layer(name, in.shape), in);
  }
  if (kind == "local_response_norm") {
    require_map(kind, in);
    return add_same(local_response_norm_layer(name, map_of(in)), in);
  }
  if (kind == "flatten" && is_tokens(in)) return {{in.shape[0] * in.shape[1]}, in.tensor};
  if (kind == "flatten" || kind == "tokens" || kind == "global_pool") {
    require_map(kind, in);
    if (kind == "global_pool") return add_shaped(average_pool_layer(name, map_of(in)), in);
    if (kind == "flatten") return {{in.shape[0] * in.shape[1] * in.shape[2]}, in.tensor};
    return {{in.shape[1] * in.shape[2], in.shape[0]}, in.tensor};
  }
  return add_activation(name, kind, in);
}

ListedValues ListedKinds::add_activation(const std::string& name, std::string_view kind, const Values& in) {
  if (kind == "relu") return add_same(relu_layer(name, in.shape), in);
  if (kind == "relu6") {
    Layer layer = relu_layer(name, in.shape);
    layer.forward_flops = layer.backward_flops = 2 * layer.forward_flops;  // two limits
    return add_same(std::move(layer), in);
  }
  if (kind == "prelu") return add_same(prelu_layer(name, in.shape), in);
  if (kind == "gelu") return add_same(gelu_layer(name, in.shape), in);
  if (kind == "silu") return add_same(swish_layer(name, in.shape), in);
  if (kind == "sigmoid") return add_same(sigmoid_layer(name, in.shape), in);
  if (kind == "tanh") return add_same(tanh_layer(name, in.shape), in);
  if (kind == "margin") return add_same(margin_layer(name, in.shape), in);
  if (kind == "dropout") return add_same(dropout_layer(name, in.shape), in);
  if (kind == "drop_path") return add_same(drop_path_layer(name, in.shape), in);
  if (kind == "layer_scale") return add_same(layer_scale_layer(name, in.shape), in);
  if (kind == "reorder") return add_same(copy_layer(name, in.shape, in.shape), in);
  throw std::logic_error(fmt::format("kind '{}' without keys has no function that adds it", kind));
}

ListedValues ListedKinds::add_gate(const std::string& name, std::string_view kind, const Values& in) {
  if (!is_tokens(in) || in.shape[1] % 2 != 0)
    refuse_shape(kind, in, "tokens with two halves of features", "twice as many outputs of the layer before");
  const int features = in.shape[1] / 2;
  return add(kind == "swiglu" ? silu_product_layer(name, in.shape[0], features)
                              : gelu_product_layer(name, in.shape[0], features),
             {in.shape[0], features}, {in});
}

ListedValues ListedKinds::add_loss(const std::string& name, std::string_view kind, const Values& in) {
  if (kind == "sigmoid_cross_entropy") {
    if (in.shape.size() != 1) refuse_shape(kind, in, "a vector", "'flatten' before it");
    return add(sigmoid_cross_entropy_layer(name, in.shape[0]), {1}, {in});
  }
  if (kind == "squared_error") return add(squared_error_layer(name, in.shape), {1}, {in});
  // The features of a vector, of each token, or of each pixel.
  const LinearSize size = rows_of(in);
  const bool has_rows = in.shape.size() > 1 && size.rows > 1;
  return add(has_rows ? softmax_cross_entropy_layer(name, size.rows, size.in)
                      : softmax_cross_entropy_layer(name, size.in),
             {1}, {in});
}

}  // namespace trainyard
