#include "workload/expert_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

Layer moved_tokens(std::string name, std::vector<int> in, std::vector<int> out) {
  Layer layer = shaped_layer(std::move(name), LayerKind::permute, std::move(in), std::move(out));
  layer.forward_rw_elements = layer.backward_rw_elements = layer.in_elements + layer.out_elements;
  layer.split = TensorSplit::tokens;
  return layer;
}

/// Marks a layer whose values are those of rows of experts.
Layer of_experts(Layer layer, int experts, TensorSplit split) {
  layer.experts = experts;
  layer.split = split;
  return layer;
}

}  // namespace

Layer expert_linear_layer(std::string name, LinearSize size, int experts, bool has_bias) {
  Layer layer = linear_layer(std::move(name), size, has_bias);
  for (Parameter& parameter : layer.parameters) parameter.elements *= experts;
  layer.weight_rw_elements = parameter_elements(layer);
  layer.forward_rw_elements = layer.in_elements + layer.out_elements + layer.weight_rw_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  layer.gemm.batch = experts;
  layer.gemm.m = (size.rows + experts - 1) / experts;
  layer.experts = experts;
  return layer;
}

Layer permute_layer(std::string name, int tokens, int features, int per_token) {
  constexpr Bytes row{4};
  Layer layer = moved_tokens(std::move(name), {tokens, features}, {tokens * per_token, features});
  layer.backward_flops = Flops(layer.out_elements);
  layer.saved_fixed = static_cast<double>(tokens) * per_token * row;
  return layer;
}

Layer unpermute_layer(std::string name, int tokens, int features, int per_token) {
  Layer layer = moved_tokens(std::move(name), {tokens * per_token, features}, {tokens, features});
  layer.forward_flops = Flops(layer.in_elements);
  return layer;
}

void append_experts(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                    const ExpertSize& experts, const BlockParts& parts) {
  const std::string name = prefix + ".moe";
  const auto append_with = [&](TensorSplit split, Layer layer) {
    layer.split = split;
    layers.push_back(std::move(layer));
  };
  if (experts.shared_features > 0) append_mlp(layers, name + ".shared", size, experts.shared_features, parts);
  append_with(TensorSplit::tokens,
              linear_layer(name + ".router", {size.sequence, size.hidden, experts.experts}, false));
  append_with(TensorSplit::tokens, softmax_layer(name + ".topk", {size.sequence, experts.experts}));
  layers.push_back(permute_layer(name + ".permute", size.sequence, size.hidden, experts.per_token));
  const int rows = size.sequence * experts.per_token;
  const int features = experts.features;
  const LinearSize up{rows, size.hidden, is_gated(parts.activation) ? 2 * features : features};
  layers.push_back(of_experts(expert_linear_layer(name + ".fc1", up, experts.experts, parts.bias),
                              experts.experts, TensorSplit::columns));
  layers.push_back(of_experts(is_gated(parts.activation) ? silu_product_layer(name + ".silu", rows, features)
                                                         : gelu_layer(name + ".gelu", {rows, features}),
                              experts.experts, TensorSplit::inner));
  const LinearSize down{rows, features, size.hidden};
  layers.push_back(of_experts(expert_linear_layer(name + ".fc2", down, experts.experts, parts.bias),
                              experts.experts, TensorSplit::rows));
  layers.push_back(unpermute_layer(name + ".unpermute", size.sequence, size.hidden, experts.per_token));
  if (experts.shared_features > 0)
    append_with(TensorSplit::tokens, add_layer(name + ".add", {size.sequence, size.hidden}));
  append_residual(layers, prefix, "2", size, parts);
}

}  // namespace trainyard
