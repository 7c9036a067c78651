#include "lowering/typed_layers.hpp"

#include "workload/eight_bits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace trainyard {
namespace {

/// The projections of a layer as layers of their own.
std::vector<Layer> projections_of(const Layer& whole) {
  if (whole.projections.size() < 2) return {whole};
  const double columns = std::accumulate(whole.projections.begin(), whole.projections.end(), 0.0);
  const bool has_tensors = whole.parameters.size() % whole.projections.size() == 0;  // some are named already
  const std::size_t tensors = has_tensors ? whole.parameters.size() / whole.projections.size() : 0;
  const bool is_one_with_bias =
      whole.parameters.size() == 2 && whole.parameters.back().name.ends_with(".bias");
  const bool is_named = tensors > 0 && !is_one_with_bias;
  std::vector<Layer> parts;
  for (std::size_t i = 0; i < whole.projections.size(); ++i) {
    Layer part = whole;
    const double share = whole.projections[i] / columns;  // ranks that share the model have a part of each
    part.name = fmt::format("{}.{}", whole.name, i);
    part.input_sums = i == 0 ? whole.input_sums + static_cast<int>(whole.projections.size()) - 1 : 0;
    part.summed_elements = part.input_sums * whole.in_elements;
    part.projections.clear();
    part.gemm.n = static_cast<int>(std::lround(share * whole.gemm.n));
    part.out_shape.back() = part.gemm.n;
    part.out_elements = share * whole.out_elements;
    part.forward_macs = share * whole.forward_macs;
    part.forward_flops = share * whole.forward_flops;
    part.backward_flops = share * whole.backward_flops;
    part.weight_rw_elements = share * whole.weight_rw_elements;
    part.forward_rw_elements = part.in_elements + part.out_elements + part.weight_rw_elements;
    part.parameters.clear();
    for (std::size_t k = 0; k < whole.parameters.size(); ++k) {
      const Parameter& tensor = whole.parameters[k];
      if (is_named && k / tensors == i) part.parameters.push_back(tensor);
      if (!is_named)
        part.parameters.push_back({fmt::format("{}.{}", tensor.name, i), share * tensor.elements});
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Bytes result_of(ResultType type, Bytes input, bool predicts_next_token, const ElementSizes& sizes) {
  switch (type) {
    case ResultType::input:
      return input;
    case ResultType::compute:
      return sizes.activation;
    case ResultType::parameter:
      return sizes.casts ? sizes.parameter : sizes.compute_weight;
    case ResultType::probabilities:
      return sizes.casts && !predicts_next_token ? sizes.parameter : sizes.activation;
    case ResultType::wide:
      return sizes.casts ? sizes.parameter : input;
  }
  return input;
}

LayerVariant variant_of(const Layer& layer) {
  if (layer.has_biased_scores) return LayerVariant::biased_scores;
  if (layer.kind == LayerKind::permute)
    return layer.forward_flops > Flops() ? LayerVariant::from_experts : LayerVariant::to_experts;
  if (layer.kind == LayerKind::linear && layer.name.ends_with(".moe.router")) return LayerVariant::router;
  const bool is_inner = layer.kind == LayerKind::dropout && layer.split == TensorSplit::inner;
  if (is_inner && layer.in_shape.size() == 2) return LayerVariant::inner;
  const bool is_of_heads = layer.kind == LayerKind::rms_norm && layer.in_shape.size() == 3;
  return is_of_heads ? LayerVariant::heads : LayerVariant::none;
}

/// Layers into whose kernels the cast for a product in 8 bits is fused.
bool is_writer(LayerKind kind, const Lowering& rules) {
  constexpr std::array activations{LayerKind::relu, LayerKind::gelu,  LayerKind::swish,
                                   LayerKind::silu, LayerKind::geglu, LayerKind::sigmoid};
  const bool is_activation = std::ranges::find(activations, kind) != activations.end();
  return casts_output(kind) || (rules.activations_cast && is_activation);
}

bool is_product(const Layer& layer) { return layer.kind == LayerKind::linear || is_convolution(layer); }

}  // namespace

std::vector<Layer> products_of(const Layer& layer, const Lowering& rules) {
  if (!rules.joined_projections) return projections_of(layer);
  std::vector<Layer> joined{layer};
  joined.front().projections.clear();
  return joined;
}

const LayerRules* rules_of(const Lowering& rules, const Layer& layer) {
  const auto seek = [&](LayerVariant variant) {
    const auto fits = [&](const LayerRules& one) {
      return one.layer == layer.kind && one.variant == variant;
    };
    const auto found = std::ranges::find_if(rules.layers, fits);
    return found == rules.layers.end() ? nullptr : &*found;
  };
  const LayerRules* const exact = seek(variant_of(layer));
  return exact == nullptr ? seek(LayerVariant::none) : exact;
}

const OptimizerRules* rules_of(const Lowering& rules, Optimizer optimizer, OptimizerKernels kernels) {
  const auto is_ours = [&](const OptimizerRules& one) {
    return one.kernels == kernels && std::ranges::find(one.optimizers, optimizer) != one.optimizers.end();
  };
  const auto found = std::ranges::find_if(rules.optimizers, is_ours);
  return found == rules.optimizers.end() ? nullptr : &*found;
}

std::vector<TypedLayer> typed_layers(const std::vector<Layer>& layers, const ModelTraits& model,
                                     const Lowering& rules, const ElementSizes& sizes,
                                     const std::optional<StreamSizes>& given) {
  std::vector<TypedLayer> typed;
  auto [before, shared] = given.value_or(StreamSizes{sizes.activation, sizes.activation});
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerRules* layer_rules = rules_of(rules, layers[i]);
    const Bytes input = layers[i].continues_previous ? before : shared;
    const std::vector<Layer> parts = products_of(layers[i], rules);
    if (layers[i].input_sums > 0) shared = input;
    Bytes result = result_of(layer_rules == nullptr ? ResultType::compute : layer_rules->result, input,
                             model.predicts_next_token, sizes);
    if (layers[i].kind == LayerKind::add) result = std::max(input, shared);
    for (const Layer& part : parts)
      typed.push_back({.layer = part,
                       .of_layer = static_cast<int>(i),
                       .input = input,
                       .result = result,
                       .other = shared,
                       .is_after_product = i > 0 && is_product(layers[i - 1]),
                       .is_before_sum = i + 1 < layers.size() && layers[i + 1].kind == LayerKind::add,
                       .is_after_writer = i > 0 && is_writer(layers[i - 1].kind, rules) &&
                                          (layers[i].continues_previous || layers[i].experts == 0)});
    before = result;
  }
  return typed;
}

}  // namespace trainyard
