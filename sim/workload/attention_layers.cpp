#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

std::vector<int> score_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, kv_sequence(size)};
}

std::vector<int> head_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, head_dim(size)};
}

/// The output of the heads: as many features as their values have.
std::vector<int> context_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, value_dim(size)};
}

/// Elements of all keys, or of all values, of a sample.
double kv_elements(const TransformerSize& size, int features) {
  return static_cast<double>(kv_heads(size)) * kv_sequence(size) * features;
}

/// Values per token that ranks beyond the heads of keys and values hold copies of.
LimitedColumns limited_by_kv(const TransformerSize& size, int features) {
  if (kv_heads(size) == size.heads) return {};
  return {kv_heads(size) * features, kv_heads(size)};
}

/// A parameter per head: the logit of a key without a value.
void add_sinks(Layer& layer, const TransformerSize& size) {
  layer.parameters = {{layer.name + ".sinks", static_cast<double>(size.heads)}};
}

/// Keys per query of causal attention that has as many products as one with this window: twice the mean
/// number of keys.
int causal_keys(const TransformerSize& size) {
  const double tokens = kv_sequence(size);
  const double window = std::min<double>(size.window.value_or(kv_sequence(size)), tokens);
  return static_cast<int>(std::lround(2 * window - window * window / tokens));
}

double product_macs(const LayerGemm& gemm) {
  return static_cast<double>(gemm.batch) * gemm.m * gemm.n * gemm.k;
}

}  // namespace

Layer head_norm_layer(std::string name, const TransformerSize& size, QkNorm norm, LayerKind kind,
                      bool has_bias) {
  const std::vector<int> shape{size.heads + kv_heads(size), size.sequence, head_dim(size)};
  Layer layer = kind == LayerKind::rms_norm
                    ? vector_layer(std::move(name), kind, shape, {.forward_flops = 4, .backward_flops = 9})
                    : vector_layer(std::move(name), kind, shape, {.forward_flops = 8, .backward_flops = 14});
  const double features = head_dim(size);
  const bool is_shared = norm == QkNorm::heads;
  layer.parameters = {{layer.name + ".q.weight", features * (is_shared ? 1 : size.heads)},
                      {layer.name + ".k.weight", features * (is_shared ? 1 : kv_heads(size))}};
  if (has_bias) {
    const std::vector<Parameter> scales = layer.parameters;
    for (std::size_t i = 0; i < scales.size(); ++i)
      layer.parameters.push_back({layer.name + (i == 0 ? ".q.bias" : ".k.bias"), scales[i].elements});
  }
  layer.limited = limited_by_kv(size, head_dim(size));
  return layer;
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

Layer attention_scores_layer(std::string name, const TransformerSize& size) {
  Layer layer = shaped_layer(std::move(name), LayerKind::batched_matmul, head_shape(size), score_shape(size));
  layer.gemm = {size.heads, size.sequence, kv_sequence(size), head_dim(size), true};
  set_macs(layer, product_macs(layer.gemm));
  const double operands = layer.in_elements + kv_elements(size, head_dim(size));
  layer.saved_elements = operands;
  layer.forward_rw_elements = operands + layer.out_elements;
  layer.backward_rw_elements = 2 * operands + layer.out_elements;
  layer.split = TensorSplit::inner;
  layer.limited = limited_by_kv(size, head_dim(size));
  return layer;
}

Layer attention_context_layer(std::string name, const TransformerSize& size) {
  Layer layer =
      shaped_layer(std::move(name), LayerKind::batched_matmul, score_shape(size), context_shape(size));
  layer.gemm = {size.heads, size.sequence, value_dim(size), kv_sequence(size), false};
  set_macs(layer, product_macs(layer.gemm));
  const double values = kv_elements(size, value_dim(size));
  layer.saved_elements = values;
  layer.forward_rw_elements = layer.in_elements + values + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.split = TensorSplit::inner;
  layer.limited = limited_by_kv(size, value_dim(size));
  return layer;
}

Layer flash_attention_layer(std::string name, const TransformerSize& size, bool causal) {
  constexpr Bytes row_statistic{4};
  Layer layer =
      shaped_layer(std::move(name), LayerKind::flash_attention, head_shape(size), context_shape(size));
  const double key = head_dim(size);
  const double value = value_dim(size);
  layer.in_elements += kv_elements(size, head_dim(size)) + kv_elements(size, value_dim(size));
  const int keys = causal ? causal_keys(size) : kv_sequence(size);
  layer.gemm = {size.heads, size.sequence, keys, static_cast<int>((key + value) / 2), true};
  set_macs(layer, computed_scores(size, causal) * (key + value));
  layer.backward_flops = (3 * key + 2 * value) / (key + value) * layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.saved_fixed = static_cast<double>(size.heads) * size.sequence * row_statistic;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.split = TensorSplit::inner;
  layer.limited = limited_by_kv(size, head_dim(size) + value_dim(size));
  return layer;
}

double computed_scores(const TransformerSize& size, bool causal) {
  const double tokens = kv_sequence(size);
  const double all = static_cast<double>(size.heads) * size.sequence * tokens;
  if (!causal) return all;
  const double part = std::min<double>(size.window.value_or(kv_sequence(size)), tokens) / tokens;
  return all * (part - part * part / 2);
}

bool is_attention_core(const Layer& layer) {
  if (layer.split != TensorSplit::inner || layer.in_shape.size() != 3) return false;
  return layer.kind == LayerKind::batched_matmul || layer.kind == LayerKind::softmax ||
         layer.kind == LayerKind::dropout || layer.kind == LayerKind::position_bias ||
         layer.kind == LayerKind::tanh;
}

int kv_heads(const TransformerSize& size) { return size.kv_heads.value_or(size.heads); }

int kv_sequence(const TransformerSize& size) { return size.kv_sequence.value_or(size.sequence); }

int head_dim(const TransformerSize& size) { return size.head_dim.value_or(size.hidden / size.heads); }

int value_dim(const TransformerSize& size) { return size.value_dim.value_or(head_dim(size)); }

int qkv_columns(const TransformerSize& size) { return (size.heads + 2 * kv_heads(size)) * head_dim(size); }

namespace {

/// `name`: of the attention, "h0.attn".
void append_core(std::vector<Layer>& layers, const std::string& name, const TransformerSize& size,
                 const BlockParts& parts) {
  const auto append = [&](Layer layer) {
    layers.push_back(with_split(std::move(layer), TensorSplit::inner));
  };
  const bool drops = parts.probability_dropout.value_or(parts.dropout);
  if (parts.attention == AttentionKernel::flash) {
    append(flash_attention_layer(name + ".flash", size, parts.causal));
    layers.back().drops_probabilities = drops;
    layers.back().masks_keys = parts.masks_keys;
    if (parts.sinks) add_sinks(layers.back(), size);
    return;
  }
  const std::size_t first = layers.size();
  append(attention_scores_layer(name + ".qk", size));
  if (parts.caps_scores) append(tanh_layer(name + ".cap", score_shape(size)));
  if (parts.position_bias) append(position_bias_layer(name + ".bias", score_shape(size), parts.bias_buckets));
  append(softmax_layer(name + ".softmax", score_shape(size)));
  if (parts.sinks) add_sinks(layers.back(), size);
  if (drops) {
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

void append_core_and_projection(std::vector<Layer>& layers, const std::string& name,
                                const TransformerSize& size, const BlockParts& parts) {
  append_core(layers, name, size, parts);
  const LinearSize projection{size.sequence, size.heads * value_dim(size), size.hidden};
  layers.push_back(with_split(
      linear_layer(name + ".proj", projection, parts.output_bias.value_or(parts.bias)), TensorSplit::rows));
  layers.back().keeps_wide_input = parts.attention == AttentionKernel::flash;
}

void append_self_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                           Layer qkv, const BlockParts& parts) {
  const std::string name = prefix + ".attn";
  layers.push_back(with_split(std::move(qkv), TensorSplit::columns));
  layers.back().limited = limited_by_kv(size, 2 * head_dim(size));
  const int keys = kv_heads(size) * head_dim(size);
  layers.back().projections = parts.joined_projections ? std::vector{qkv_columns(size)}
                                                       : std::vector{size.heads * head_dim(size), keys, keys};
  if (parts.qk_norm != QkNorm::none)
    layers.push_back(with_split(
        head_norm_layer(name + ".norm", size, parts.qk_norm, parts.qk_norm_kind, parts.qk_norm_bias),
        TensorSplit::inner));
  if (parts.rope) {
    const int features = parts.rope_features.value_or(head_dim(size));
    layers.push_back(
        with_split(rope_layer(name + ".rope", {size.heads + kv_heads(size), size.sequence, features}),
                   TensorSplit::inner));
    layers.back().limited = limited_by_kv(size, features);
  }
  append_core_and_projection(layers, name, size, parts);
}

void append_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                      Layer qkv, const BlockParts& parts) {
  append_self_attention(layers, prefix, size, std::move(qkv), parts);
  append_residual(layers, prefix, "1", size, parts);
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
  append_core_and_projection(layers, name, size, parts);
  append_residual(layers, prefix, "2", size, parts);
}

}  // namespace trainyard
