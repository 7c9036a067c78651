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

namespace {

/// The shared experts' output times a value per token, the sigmoid of a product with one column.
void append_shared_gate(std::vector<Layer>& layers, const std::string& name, const TransformerSize& size) {
  const std::vector<int> tokens{size.sequence, size.hidden};
  layers.push_back(
      with_split(linear_layer(name + ".gate", {size.sequence, size.hidden, 1}, false), TensorSplit::tokens));
  layers.back().saved_elements = 0;  // the experts keep the same input
  layers.back().continues_previous = false;
  layers.push_back(with_split(sigmoid_layer(name + ".sigmoid", {size.sequence, 1}), TensorSplit::tokens));
  layers.push_back(with_split(multiply_layer(name + ".scale", tokens), TensorSplit::tokens));
  const double products = layers.back().out_elements;  // the other factor has one value per token
  layers.back().forward_rw_elements = 2 * products + size.sequence;
  layers.back().backward_rw_elements = 3 * products + 2.0 * size.sequence;
  layers.back().saved_elements = products + size.sequence;
}

void append_router(std::vector<Layer>& layers, const std::string& name, const TransformerSize& size,
                   const ExpertSize& experts) {
  layers.push_back(with_split(linear_layer(name + ".router", {size.sequence, size.hidden, experts.experts},
                                           experts.router_bias || experts.router_correction),
                              TensorSplit::tokens));
  if (experts.router_correction) {
    Parameter correction{name + ".router.correction", static_cast<double>(experts.experts)};
    if (!experts.router_bias) layers.back().parameters.pop_back();
    layers.back().parameters.push_back(std::move(correction));
  }
  layers.push_back(
      with_split(softmax_layer(name + ".topk", {size.sequence, experts.experts}), TensorSplit::tokens));
}

}  // namespace

void append_experts(std::vector<Layer>& layers, const std::string& prefix, const TransformerSize& size,
                    const ExpertSize& experts, const BlockParts& parts) {
  const std::string name = prefix + ".moe";
  const bool has_bias = parts.mlp_bias.value_or(parts.bias);
  if (experts.shared_features > 0) append_mlp(layers, name + ".shared", size, experts.shared_features, parts);
  if (experts.shared_gate) append_shared_gate(layers, name + ".shared", size);
  append_router(layers, name, size, experts);
  layers.push_back(permute_layer(name + ".permute", size.sequence, size.hidden, experts.per_token));
  const int rows = size.sequence * experts.per_token;
  const int features = experts.features;
  const LinearSize up{rows, size.hidden, is_gated(parts.activation) ? 2 * features : features};
  layers.push_back(of_experts(expert_linear_layer(name + ".fc1", up, experts.experts, has_bias),
                              experts.experts, TensorSplit::columns));
  layers.push_back(
      of_experts(activation_layer(name, rows, features, parts), experts.experts, TensorSplit::inner));
  const LinearSize down{rows, features, size.hidden};
  layers.push_back(of_experts(expert_linear_layer(name + ".fc2", down, experts.experts, has_bias),
                              experts.experts, TensorSplit::rows));
  layers.push_back(unpermute_layer(name + ".unpermute", size.sequence, size.hidden, experts.per_token));
  if (experts.shared_features > 0)
    layers.push_back(with_split(add_layer(name + ".add", {size.sequence, size.hidden}), TensorSplit::tokens));
}

}  // namespace trainyard
