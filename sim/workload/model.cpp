#include "workload/model.hpp"

namespace trainyard {

std::optional<double> samples_per_epoch(const Model& model) {
  if (!model.samples_per_epoch) return std::nullopt;
  return model.samples_per_epoch->value;
}

ModelTotals totals(const std::vector<Layer>& layers) {
  ModelTotals sum;
  for (const Layer& layer : layers) {
    sum.parameters += parameter_elements(layer);
    sum.tensors += static_cast<int>(layer.parameters.size());
    sum.forward_macs += layer.forward_macs;
    sum.forward_flops += layer.forward_flops;
    sum.backward_flops += layer.backward_flops;
    sum.saved_elements += layer.saved_elements;
    sum.saved_fixed += layer.saved_fixed;
    sum.forward_rw_elements += layer.forward_rw_elements;
    sum.backward_rw_elements += layer.backward_rw_elements;
  }
  return sum;
}

Bytes saved_activations(const ModelTotals& totals, Bytes element) {
  return totals.saved_elements * element + totals.saved_fixed;
}

}  // namespace trainyard
