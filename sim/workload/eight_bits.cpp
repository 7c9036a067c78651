#include "workload/eight_bits.hpp"

#include "config/diagnostic.hpp"
#include "workload/make_trace.hpp"
#include "workload/model.hpp"

#include <algorithm>

namespace trainyard {

bool runs_in_8_bits(const Layer& layer) {
  const bool is_router = layer.split == TensorSplit::tokens;
  return layer.kind == LayerKind::linear && layer.block && !is_router && !layer.normalises_weights &&
         !layer.stays_in_16_bits;
}

NarrowValues narrow_values(Precision precision) {
  constexpr double per_block = 32, per_small_block = 16;
  switch (precision) {
    case Precision::fp8:
      return {.each = Bytes(1)};
    case Precision::mxfp8:
      return {.each = Bytes(1 + 1 / per_block)};
    case Precision::nvfp4:
      return {.each = Bytes(0.5 + 1 / per_small_block), .reads = 3, .of_weights = 2, .is_always_cast = true};
    default:
      return {.each = Bytes()};
  }
}

bool casts_output(LayerKind kind) { return traits(kind).forward == OpKind::layer_norm; }

double weights_in_8_bits(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (runs_in_8_bits(layer)) sum += parameter_elements(layer);
  }
  return sum;
}

Bytes saved_values(const Layer& layer, Precision precision) {
  const Bytes wide = element_sizes(precision).activation;
  if (!is_narrow(precision) || !runs_in_8_bits(layer)) return layer.saved_elements * wide;
  const Bytes narrow = narrow_values(precision).each;
  return layer.saved_elements * (layer.keeps_wide_input ? narrow + wide : narrow);
}

Bytes saved_activations(const std::vector<Layer>& layers, Precision precision) {
  if (!is_narrow(precision)) return saved_activations(totals(layers), element_sizes(precision).activation);
  Bytes sum;
  for (const Layer& layer : layers) sum += saved_values(layer, precision) + layer.saved_fixed;
  return sum;
}

void require_8_bits(const std::vector<Layer>& layers) {
  if (std::ranges::any_of(layers, runs_in_8_bits)) return;
  throw InputError(
      "nothing of the model would run in 8 bits: only the linear layers of transformer blocks do, as in "
      "NVIDIA's Transformer Engine",
      "precision: bf16 or amp_bf16");
}

}  // namespace trainyard
