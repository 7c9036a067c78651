#include "workload/transformer_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

std::vector<int> token_shape(const TransformerSize& size) { return {size.sequence, size.hidden}; }

}  // namespace

Layer embedding_layer(std::string name, EmbeddingSize size) {
  Layer layer = shaped_layer(std::move(name), LayerKind::embedding, {size.rows}, {size.rows, size.features});
  const double table = static_cast<double>(size.entries) * size.features;
  layer.parameters = {{layer.name + ".weight", table}};
  layer.backward_flops = Flops(layer.out_elements);
  layer.forward_rw_elements = 2 * layer.out_elements;
  layer.backward_rw_elements = table;
  layer.split = TensorSplit::table;
  return layer;
}

Layer tied_embedding_layer(std::string name, EmbeddingSize size) {
  Layer layer = embedding_layer(std::move(name), size);
  layer.tied_elements = parameter_elements(layer);
  layer.parameters.clear();
  return layer;
}

Layer added_embedding_layer(std::string name, EmbeddingSize size) {
  Layer layer = embedding_layer(std::move(name), size);
  layer.forward_flops = Flops(layer.out_elements);
  layer.backward_rw_elements = layer.out_elements;
  layer.adds_rows = true;
  layer.split = TensorSplit::tokens;
  return layer;
}

Layer layer_norm_layer(std::string name, int rows, int features, bool has_bias) {
  Layer layer = vector_layer(std::move(name), LayerKind::layer_norm, {rows, features},
                             {.forward_flops = 8, .backward_flops = 14});
  layer.parameters = {{layer.name + ".weight", static_cast<double>(features)}};
  if (has_bias) layer.parameters.push_back({layer.name + ".bias", static_cast<double>(features)});
  return layer;
}

Layer rms_norm_layer(std::string name, int rows, int features) {
  Layer layer = vector_layer(std::move(name), LayerKind::rms_norm, {rows, features},
                             {.forward_flops = 4, .backward_flops = 9});
  layer.parameters = {{layer.name + ".weight", static_cast<double>(features)}};
  return layer;
}

Layer gelu_layer(std::string name, std::vector<int> shape) {
  return vector_layer(std::move(name), LayerKind::gelu, shape, {.forward_flops = 8, .backward_flops = 12});
}

namespace {

/// The product of one half of the features with a function of the other; FLOPs per output.
Layer gate_layer(std::string name, LayerKind kind, LinearSize size, int forward_flops, int backward_flops) {
  Layer layer = shaped_layer(std::move(name), kind, {size.rows, size.in}, {size.rows, size.out});
  layer.forward_flops = Flops(forward_flops * layer.out_elements);
  layer.backward_flops = Flops(backward_flops * layer.out_elements);
  layer.forward_rw_elements = 3 * layer.out_elements;
  layer.backward_rw_elements = 5 * layer.out_elements;
  layer.saved_elements = layer.in_elements;
  return layer;
}

}  // namespace

Layer silu_product_layer(std::string name, int rows, int features) {
  return gate_layer(std::move(name), LayerKind::silu, {rows, 2 * features, features}, 5, 10);
}

namespace {

constexpr int clipped_silu_flops = 10;  // per output, in forward

}  // namespace

Layer clipped_silu_product_layer(std::string name, int rows, int features) {
  return gate_layer(std::move(name), LayerKind::silu, {rows, 2 * features, features}, clipped_silu_flops, 17);
}

bool is_clipped(const Layer& layer) {
  return layer.kind == LayerKind::silu &&
         layer.forward_flops > Flops(0.9 * clipped_silu_flops * layer.out_elements);
}

Layer gelu_product_layer(std::string name, int rows, int features) {
  return gate_layer(std::move(name), LayerKind::geglu, {rows, 2 * features, features}, 9, 14);
}

Layer dropout_layer(std::string name, std::vector<int> shape) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::dropout, shape, {.forward_flops = 1, .backward_flops = 1});
  constexpr Bytes mask_value{1};
  layer.forward_rw_elements = layer.backward_rw_elements = 2.25 * layer.in_elements;
  layer.saved_elements = 0;
  layer.saved_fixed = layer.in_elements * mask_value;
  return layer;
}

Layer softmax_layer(std::string name, std::vector<int> shape) {
  return vector_layer(std::move(name), LayerKind::softmax, shape, {.forward_flops = 5, .backward_flops = 4});
}

Layer softmax_cross_entropy_layer(std::string name, int rows, int classes) {
  Layer layer = vector_layer(std::move(name), LayerKind::softmax_cross_entropy, {rows, classes},
                             {.forward_flops = 5, .backward_flops = 2, .backward_passes = 2});
  layer.out_shape = {1};
  layer.out_elements = 1;
  layer.split = TensorSplit::loss;
  return layer;
}

Layer split_linear_layer(std::string name, LinearSize size, const std::vector<std::string>& parts) {
  Layer layer = linear_layer(std::move(name), size);
  const std::vector<Parameter> whole = std::exchange(layer.parameters, {});
  const auto count = static_cast<double>(parts.size());
  for (const std::string& part : parts) {
    layer.parameters.push_back({layer.name + "." + part + ".weight", whole[0].elements / count});
    layer.parameters.push_back({layer.name + "." + part + ".bias", whole[1].elements / count});
  }
  return layer;
}

Layer tied_linear_layer(std::string name, LinearSize size, bool has_bias) {
  Layer layer = linear_layer(std::move(name), size);
  layer.tied_elements = layer.parameters[0].elements;
  layer.parameters.erase(layer.parameters.begin());
  if (!has_bias) layer.parameters.clear();
  layer.weight_rw_elements = 0;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.split = TensorSplit::columns;
  return layer;
}

Layer with_split(Layer layer, TensorSplit split) {
  layer.split = split;
  return layer;
}

int padded_vocabulary(int vocabulary, std::optional<int> multiple) {
  if (!multiple) return vocabulary;
  return (vocabulary + *multiple - 1) / *multiple * *multiple;
}

void append_residual(std::vector<Layer>& layers, const std::string& prefix, const std::string& number,
                     const TransformerSize& size, const BlockParts& parts) {
  const auto append = [&](Layer layer) {
    layers.push_back(with_split(std::move(layer), TensorSplit::tokens));
  };
  if (parts.dropout) append(dropout_layer(prefix + ".drop" + number, token_shape(size)));
  append(add_layer(prefix + ".add" + number, token_shape(size)));
}

Layer activation_layer(const std::string& prefix, int rows, int features, const BlockParts& parts) {
  switch (parts.activation) {
    case Activation::silu_product:
      return silu_product_layer(prefix + ".silu", rows, features);
    case Activation::clipped_silu_product:
      return clipped_silu_product_layer(prefix + ".silu", rows, features);
    case Activation::gelu_product:
      return gelu_product_layer(prefix + ".geglu", rows, features);
    case Activation::relu: {
      Layer layer = relu_layer(prefix + ".relu", {rows, features});
      if (parts.dropout && parts.inner_dropout)
        layer.saved_elements = layer.out_elements;  // dropout writes others
      return layer;
    }
    case Activation::silu:
      return swish_layer(prefix + ".silu", {rows, features});
    case Activation::gelu:
      break;
  }
  return gelu_layer(prefix + ".gelu", {rows, features});
}

void append_mlp(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                int features, const BlockParts& parts) {
  const LinearSize up{size.sequence, size.hidden, is_gated(parts.activation) ? 2 * features : features};
  layers.push_back(with_split(linear_layer(prefix + ".fc1", up, parts.mlp_bias.value_or(parts.bias)),
                              TensorSplit::columns));
  if (is_gated(parts.activation)) layers.back().projections = {features, features};
  layers.push_back(with_split(activation_layer(prefix, size.sequence, features, parts), TensorSplit::inner));
  if (parts.dropout && parts.inner_dropout)
    layers.push_back(
        with_split(dropout_layer(prefix + ".dropout", {size.sequence, features}), TensorSplit::inner));
  const LinearSize down{size.sequence, features, size.hidden};
  layers.push_back(with_split(linear_layer(prefix + ".fc2", down, parts.mlp_bias.value_or(parts.bias)),
                              TensorSplit::rows));
}

void append_feed_forward(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                         const BlockParts& parts) {
  append_mlp(layers, prefix + ".mlp", size, size.intermediate, parts);
  append_residual(layers, prefix, "2", size, parts);
}

}  // namespace trainyard
