#include "workload/transformer_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

std::vector<int> score_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, size.sequence};
}

std::vector<int> head_shape(const TransformerSize& size) {
  return {size.heads, size.sequence, size.hidden / size.heads};
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
  return layer;
}

Layer added_embedding_layer(std::string name, EmbeddingSize size) {
  Layer layer = embedding_layer(std::move(name), size);
  layer.forward_flops = Flops(layer.out_elements);
  layer.backward_rw_elements = layer.out_elements;
  return layer;
}

Layer layer_norm_layer(std::string name, int rows, int features) {
  Layer layer = vector_layer(std::move(name), LayerKind::layer_norm, {rows, features},
                             {.forward_flops = 8, .backward_flops = 14});
  layer.parameters = {{layer.name + ".weight", static_cast<double>(features)},
                      {layer.name + ".bias", static_cast<double>(features)}};
  return layer;
}

Layer gelu_layer(std::string name, std::vector<int> shape) {
  return vector_layer(std::move(name), LayerKind::gelu, shape, {.forward_flops = 8, .backward_flops = 12});
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
  return layer;
}

Layer attention_scores_layer(std::string name, const TransformerSize& size) {
  Layer layer = shaped_layer(std::move(name), LayerKind::batched_matmul, head_shape(size), score_shape(size));
  layer.gemm = {size.heads, size.sequence, size.sequence, size.hidden / size.heads, true};
  set_macs(layer, product_macs(layer.gemm));
  layer.saved_elements = 2 * layer.in_elements;
  layer.forward_rw_elements = 2 * layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = 4 * layer.in_elements + layer.out_elements;
  return layer;
}

Layer attention_context_layer(std::string name, const TransformerSize& size) {
  Layer layer = shaped_layer(std::move(name), LayerKind::batched_matmul, score_shape(size), head_shape(size));
  layer.gemm = {size.heads, size.sequence, size.hidden / size.heads, size.sequence, false};
  set_macs(layer, product_macs(layer.gemm));
  layer.saved_elements = layer.out_elements;  // as many values as outputs
  layer.forward_rw_elements = layer.in_elements + 2 * layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  return layer;
}

void append_attention(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                      Layer qkv) {
  layers.push_back(std::move(qkv));
  layers.push_back(attention_scores_layer(prefix + ".attn.qk", size));
  layers.push_back(softmax_layer(prefix + ".attn.softmax", score_shape(size)));
  layers.push_back(dropout_layer(prefix + ".attn.dropout", score_shape(size)));
  layers.back().saved_elements = layers.back().out_elements;  // operand of the next product
  layers.push_back(attention_context_layer(prefix + ".attn.av", size));
  layers.push_back(linear_layer(prefix + ".attn.proj", {size.sequence, size.hidden, size.hidden}));
  layers.push_back(dropout_layer(prefix + ".drop1", token_shape(size)));
  layers.push_back(add_layer(prefix + ".add1", token_shape(size)));
}

void append_feed_forward(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size) {
  layers.push_back(linear_layer(prefix + ".mlp.fc1", {size.sequence, size.hidden, size.intermediate}));
  layers.push_back(gelu_layer(prefix + ".mlp.gelu", {size.sequence, size.intermediate}));
  layers.push_back(linear_layer(prefix + ".mlp.fc2", {size.sequence, size.intermediate, size.hidden}));
  layers.push_back(dropout_layer(prefix + ".drop2", token_shape(size)));
  layers.push_back(add_layer(prefix + ".add2", token_shape(size)));
}

}  // namespace trainyard
