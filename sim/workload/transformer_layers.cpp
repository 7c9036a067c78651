#include "workload/transformer_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

std::vector<int> score_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, kv_sequence(size)};
}

std::vector<int> head_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, head_dim(size)};
}

/// Values of all keys, or of all values, of a sample.
double kv_elements(const TransformerSize& size) {
  return static_cast<double>(kv_heads(size)) * kv_sequence(size) * head_dim(size);
}

/// Values per token that ranks beyond the heads of keys and values hold copies of.
LimitedColumns limited_by_kv(const TransformerSize& size, int tensors) {
  if (kv_heads(size) == size.heads) return {};
  return {tensors * kv_heads(size) * head_dim(size), kv_heads(size)};
}

Layer with_split(Layer layer, TensorSplit split) {
  layer.split = split;
  return layer;
}

std::vector<int> token_shape(const TransformerSize& size) { return {size.sequence, size.hidden}; }

double product_macs(const LayerGemm& gemm) {
  return static_cast<double>(gemm.batch) * gemm.m * gemm.n * gemm.k;
}

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

Layer head_norm_layer(std::string name, const std::vector<int>& shape) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::rms_norm, shape, {.forward_flops = 4, .backward_flops = 9});
  const double features = shape.back();
  layer.parameters = {{layer.name + ".q.weight", features}, {layer.name + ".k.weight", features}};
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

Layer gelu_product_layer(std::string name, int rows, int features) {
  return gate_layer(std::move(name), LayerKind::geglu, {rows, 2 * features, features}, 9, 14);
}

Layer position_bias_layer(std::string name, const std::vector<int>& shape, int buckets) {
  Layer layer =
      vector_layer(std::move(name), LayerKind::position_bias, shape,
                   {.forward_flops = 1, .backward_flops = 1, .backward_passes = 1, .keeps_input = false});
  if (buckets > 0)
    layer.parameters = {{layer.name + ".weight", static_cast<double>(buckets) * shape.front()}};
  return layer;
}

Layer rope_layer(std::string name, std::vector<int> shape) {
  return vector_layer(std::move(name), LayerKind::rope, shape,
                      {.forward_flops = 3, .backward_flops = 3, .backward_passes = 2, .keeps_input = false});
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

Layer attention_scores_layer(std::string name, const TransformerSize& size) {
  Layer layer = shaped_layer(std::move(name), LayerKind::batched_matmul, head_shape(size), score_shape(size));
  layer.gemm = {size.heads, size.sequence, kv_sequence(size), head_dim(size), true};
  set_macs(layer, product_macs(layer.gemm));
  const double operands = layer.in_elements + kv_elements(size);
  layer.saved_elements = operands;
  layer.forward_rw_elements = operands + layer.out_elements;
  layer.backward_rw_elements = 2 * operands + layer.out_elements;
  layer.split = TensorSplit::inner;
  layer.limited = limited_by_kv(size, 1);
  return layer;
}

Layer attention_context_layer(std::string name, const TransformerSize& size) {
  Layer layer = shaped_layer(std::move(name), LayerKind::batched_matmul, score_shape(size), head_shape(size));
  layer.gemm = {size.heads, size.sequence, head_dim(size), kv_sequence(size), false};
  set_macs(layer, product_macs(layer.gemm));
  layer.saved_elements = kv_elements(size);
  layer.forward_rw_elements = layer.in_elements + kv_elements(size) + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.split = TensorSplit::inner;
  layer.limited = limited_by_kv(size, 1);
  return layer;
}

Layer flash_attention_layer(std::string name, const TransformerSize& size, bool causal) {
  constexpr double computed_when_causal = 0.5;
  constexpr double backward_products = 2.5;  // five in place of two
  constexpr Bytes row_statistic{4};
  Layer layer = shaped_layer(std::move(name), LayerKind::flash_attention, head_shape(size), head_shape(size));
  const double queries = layer.out_elements;
  layer.in_elements = queries + 2 * kv_elements(size);
  layer.gemm = {size.heads, size.sequence, kv_sequence(size), head_dim(size), true};
  set_macs(layer, 2 * product_macs(layer.gemm) * (causal ? computed_when_causal : 1));
  layer.backward_flops = backward_products * layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.saved_fixed = static_cast<double>(size.heads) * size.sequence * row_statistic;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.split = TensorSplit::inner;
  layer.limited = limited_by_kv(size, 2);
  return layer;
}

bool is_attention_core(const Layer& layer) {
  if (layer.split != TensorSplit::inner || layer.in_shape.size() != 3) return false;
  return layer.kind == LayerKind::batched_matmul || layer.kind == LayerKind::softmax ||
         layer.kind == LayerKind::dropout || layer.kind == LayerKind::position_bias;
}

int kv_heads(const TransformerSize& size) { return size.kv_heads.value_or(size.heads); }

int kv_sequence(const TransformerSize& size) { return size.kv_sequence.value_or(size.sequence); }

int head_dim(const TransformerSize& size) { return size.head_dim.value_or(size.hidden / size.heads); }

int qkv_columns(const TransformerSize& size) { return (size.heads + 2 * kv_heads(size)) * head_dim(size); }

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

namespace {

/// `name`: of the attention, "h0.attn".
void append_core(std::vector<Layer>& layers, const std::string& name, const TransformerSize& size,
                 const BlockParts& parts) {
  const auto append = [&](Layer layer) {
    layers.push_back(with_split(std::move(layer), TensorSplit::inner));
  };
  if (parts.attention == AttentionKernel::flash) {
    append(flash_attention_layer(name + ".flash", size, parts.causal));
    layers.back().drops_probabilities = parts.dropout && parts.probability_dropout;
    layers.back().masks_keys = parts.masks_keys;
    return;
  }
  const std::size_t first = layers.size();
  append(attention_scores_layer(name + ".qk", size));
  if (parts.position_bias) append(position_bias_layer(name + ".bias", score_shape(size), parts.bias_buckets));
  append(softmax_layer(name + ".softmax", score_shape(size)));
  if (parts.dropout && parts.probability_dropout) {
    append(dropout_layer(name + ".dropout", score_shape(size)));
    layers.back().saved_elements = layers.back().out_elements;  // operand of the next product
  }
  append(attention_context_layer(name + ".av", size));
  for (std::size_t i = first; i < layers.size(); ++i) layers[i].has_biased_scores = parts.position_bias;
}

}  // namespace

std::vector<Layer> attention_core(const std::string& name, const TransformerSize& size,
                                  const BlockParts& parts) {
  std::vector<Layer> layers;
  append_core(layers, name, size, parts);
  return layers;
}

namespace {

/// From the core to the residual sum.
void append_core_and_projection(std::vector<Layer>& layers, const std::string& prefix,
                                const std::string& name, const std::string& number,
                                const TransformerSize& size, const BlockParts& parts) {
  append_core(layers, name, size, parts);
  const LinearSize projection{size.sequence, size.heads * head_dim(size), size.hidden};
  layers.push_back(with_split(linear_layer(name + ".proj", projection, parts.bias), TensorSplit::rows));
  layers.back().keeps_wide_input = parts.attention == AttentionKernel::flash;
  append_residual(layers, prefix, number, size, parts);
}

Layer activation_layer(const std::string& prefix, int rows, int features, const BlockParts& parts) {
  switch (parts.activation) {
    case Activation::silu_product:
      return silu_product_layer(prefix + ".silu", rows, features);
    case Activation::gelu_product:
      return gelu_product_layer(prefix + ".geglu", rows, features);
    case Activation::relu: {
      Layer layer = relu_layer(prefix + ".relu", {rows, features});
      if (parts.dropout && parts.inner_dropout)
        layer.saved_elements = layer.out_elements;  // dropout writes others
      return layer;
    }
    case Activation::gelu:
      break;
  }
  return gelu_layer(prefix + ".gelu", {rows, features});
}

}  // namespace

void append_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                      Layer qkv, const BlockParts& parts) {
  layers.push_back(with_split(std::move(qkv), TensorSplit::columns));
  layers.back().limited = limited_by_kv(size, 2);
  const int keys = kv_heads(size) * head_dim(size);
  layers.back().projections = parts.joined_projections ? std::vector{qkv_columns(size)}
                                                       : std::vector{size.heads * head_dim(size), keys, keys};
  const int heads = size.heads + kv_heads(size);
  if (parts.norm_heads) {
    layers.push_back(with_split(
        head_norm_layer(prefix + ".attn.norm", {heads, size.sequence, head_dim(size)}), TensorSplit::inner));
    layers.back().limited = limited_by_kv(size, 1);
  }
  if (parts.rope) {
    layers.push_back(with_split(rope_layer(prefix + ".attn.rope", {heads, size.sequence, head_dim(size)}),
                                TensorSplit::inner));
    layers.back().limited = limited_by_kv(size, 1);
  }
  append_core_and_projection(layers, prefix, prefix + ".attn", "1", size, parts);
}

void append_cross_attention(std::vector<Layer>& layers, const std::string& prefix,
                            const TransformerSize& size, const BlockParts& parts) {
  const std::string name = prefix + ".cross";
  const int width = size.heads * head_dim(size);
  const LinearSize of_queries{size.sequence, size.hidden, width};
  layers.push_back(with_split(linear_layer(name + ".q", of_queries, parts.bias), TensorSplit::columns));
  const LinearSize of_keys{kv_sequence(size), size.hidden, 2 * width};
  Layer keys = with_split(linear_layer(name + ".kv", of_keys, parts.bias), TensorSplit::columns);
  keys.saved_elements = 0;
  keys.reads_encoder = true;
  keys.projections = {width, width};
  layers.push_back(std::move(keys));
  append_core_and_projection(layers, prefix, name, "2", size, parts);
}

void append_mlp(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                int features, const BlockParts& parts) {
  const LinearSize up{size.sequence, size.hidden, is_gated(parts.activation) ? 2 * features : features};
  layers.push_back(with_split(linear_layer(prefix + ".fc1", up, parts.bias), TensorSplit::columns));
  if (is_gated(parts.activation)) layers.back().projections = {features, features};
  layers.push_back(with_split(activation_layer(prefix, size.sequence, features, parts), TensorSplit::inner));
  if (parts.dropout && parts.inner_dropout)
    layers.push_back(
        with_split(dropout_layer(prefix + ".dropout", {size.sequence, features}), TensorSplit::inner));
  const LinearSize down{size.sequence, features, size.hidden};
  layers.push_back(with_split(linear_layer(prefix + ".fc2", down, parts.bias), TensorSplit::rows));
}

void append_feed_forward(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                         const BlockParts& parts) {
  append_mlp(layers, prefix + ".mlp", size, size.intermediate, parts);
  append_residual(layers, prefix, "2", size, parts);
}

}  // namespace trainyard
