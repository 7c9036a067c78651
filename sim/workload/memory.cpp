#include "workload/memory.hpp"

#include "config/diagnostic.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr Bytes state_value{4};
constexpr Bytes cublas_workspace{8519680};
constexpr Bytes cudnn_workspace{256.0 * 1024 * 1024};

/// Parameters of the layers whose weights autocast copies.
double matrix_parameters(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (layer.gemm.k > 0) sum += parameter_elements(layer) + layer.tied_elements;
  }
  return sum;
}

}  // namespace

Bytes total(const MemoryTerms& terms) {
  Bytes sum;
  for (const MemoryTerm& term : memory_terms) sum += terms.*term.bytes;
  return sum;
}

const MemoryTerm& largest_term(const MemoryTerms& terms) {
  return *std::ranges::max_element(memory_terms, {},
                                   [&](const MemoryTerm& term) { return (terms.*term.bytes).si(); });
}

int optimizer_states(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 0;
    case Optimizer::momentum:
      return 1;
    case Optimizer::adam:
    case Optimizer::lamb:
      return 2;
  }
  return 0;
}

Bytes activations_per_sample(const Model& model, Precision precision) {
  const Bytes element = element_sizes(precision).activation;
  double transient = 0;
  for (const Layer& layer : model.layers)
    transient = std::max(transient, layer.in_elements + layer.out_elements);
  return saved_activations(totals(model.layers), element) + transient * element;
}

Bytes workspace(const Model& model) {
  const bool has_convolutions =
      std::ranges::any_of(model.layers, [](const Layer& layer) { return layer.kind == LayerKind::conv; });
  return cublas_workspace + (has_convolutions ? cudnn_workspace : Bytes());
}

MemoryTerms memory_per_rank(const Model& model, const MemorySetting& setting) {
  if (setting.batch < 0) throw InputError(fmt::format("the batch is {} samples", setting.batch));
  const ElementSizes sizes = element_sizes(setting.precision);
  const double parameters = totals(model.layers).parameters;
  MemoryTerms terms;
  terms.parameters = parameters * (sizes.writes_copy ? sizes.compute_weight : sizes.parameter);
  if (sizes.casts) terms.parameters += matrix_parameters(model.layers) * sizes.compute_weight;
  terms.gradients = parameters * sizes.gradient;
  terms.optimizer_state = parameters * optimizer_states(setting.optimizer) * state_value;
  if (sizes.writes_copy) terms.optimizer_state += parameters * sizes.parameter;
  terms.activations = setting.batch * activations_per_sample(model, setting.precision);
  terms.workspace = workspace(model);
  terms.context = setting.context;
  terms.gradient_buckets = setting.gradient_buckets;
  terms.communication_buffers = setting.communication_buffers;
  return terms;
}

}  // namespace trainyard
