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
  constexpr Bytes narrow{1};
  if (precision != Precision::fp8 || !runs_in_8_bits(layer)) return layer.saved_elements * wide;
  return layer.saved_elements * (layer.keeps_wide_input ? narrow + wide : narrow);
}

Bytes saved_activations(const std::vector<Layer>& layers, Precision precision) {
  if (precision != Precision::fp8)
    return saved_activations(totals(layers), element_sizes(precision).activation);
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
