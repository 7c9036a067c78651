#include "workload/recurrent_layers.hpp"

#include "workload/transformer_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

constexpr int gates = 4;

/// For each of `hidden`: two sums of 4 gates (8), three sigmoids and two hyperbolic tangents of 4 (20), and
/// for the cell and its output three products and a sum (4).
constexpr int cell_flops = 32;
/// Values that the cell of a step moves, for each of `hidden`.
constexpr int cell_forward_values = 3 * gates + 3;   // two products, gates; last cell, cell, output
constexpr int cell_backward_values = 2 * gates + 5;  // gates and their gradients; two cells, three gradients

Layer recurrence_layer(std::string name, int tokens, int hidden) {
  Layer layer =
      shaped_layer(std::move(name), LayerKind::recurrence, {tokens, gates * hidden}, {tokens, hidden});
  const double weights = static_cast<double>(gates) * hidden * hidden;
  layer.parameters = {{layer.name + ".weight", weights},
                      {layer.name + ".bias", static_cast<double>(gates) * hidden}};
  layer.steps = tokens;
  layer.gemm = {1, 1, gates * hidden, hidden, true};
  set_macs(layer, tokens * weights);
  layer.forward_flops += Flops(cell_flops * layer.out_elements);
  layer.backward_flops += Flops(cell_flops * layer.out_elements);
  constexpr int product_values = 1 + gates;  // output of the last step, gates
  layer.weight_rw_elements = tokens * parameter_elements(layer);
  layer.forward_rw_elements =
      (product_values + cell_forward_values) * layer.out_elements + layer.weight_rw_elements;
  layer.backward_rw_elements =
      (2 * product_values + cell_backward_values) * layer.out_elements + 2 * layer.weight_rw_elements;
  layer.saved_elements = (gates + 2) * layer.out_elements;
  return layer;
}

}  // namespace

std::vector<Layer> lstm_layers(const std::string& name, int tokens, int inputs, int hidden) {
  return {linear_layer(name + ".input", {tokens, inputs, gates * hidden}),
          recurrence_layer(name + ".steps", tokens, hidden)};
}

Layer additive_scores_layer(std::string name, int queries, int keys, int features) {
  constexpr int flops = 8;
  Layer layer =
      shaped_layer(std::move(name), LayerKind::additive_scores, {queries, features}, {queries, keys});
  const double length = features;
  layer.parameters = {
      {layer.name + ".weight", length}, {layer.name + ".length", 1}, {layer.name + ".bias", length}};
  layer.in_elements = (1.0 * queries + keys) * features;
  layer.forward_flops = Flops(flops * layer.out_elements * features);
  layer.backward_flops = 2 * layer.forward_flops;
  layer.saved_elements = layer.in_elements;
  layer.forward_rw_elements = layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.in_elements + layer.out_elements;
  return layer;
}

Layer weighted_tokens_layer(std::string name, int queries, int keys, int features) {
  Layer layer = attention_context_layer(
      std::move(name),
      {.sequence = queries, .hidden = features, .heads = 1, .intermediate = 0, .kv_sequence = keys});
  layer.in_shape = {queries, keys};
  layer.out_shape = {queries, features};
  layer.saved_elements = 0;
  return layer;
}

}  // namespace trainyard
