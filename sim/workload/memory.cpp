#include "workload/memory.hpp"

#include "config/diagnostic.hpp"
#include "workload/eight_bits.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
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
    if (layer.gemm.k > 0) sum += layer.drawn * parameter_elements(layer) + layer.tied_elements;
  }
  return sum;
}

/// Drawn weights, which are copied together before they are used.
double copied_parameters(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (layer.drawn < 1) sum += layer.drawn * parameter_elements(layer);
  }
  return sum;
}

/// Weights scaled to length 1, which are kept until backward.
double normalised_parameters(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (layer.normalises_weights) sum += layer.drawn * parameter_elements(layer);
  }
  return sum;
}

/// Whether a list of a rule has the value; an empty list stands for all.
template <typename Value>
bool is_in(const std::vector<Value>& list, Value value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

bool applies(const KeptValues& kept, const Layer& layer, const MemorySetting& setting) {
  if (kept.layer != layer.kind || (kept.fusible && setting.fused_elementwise)) return false;
  return is_in(kept.only, setting.precision);
}

/// Indices and masks of a layer for one sample.
Bytes kept_fixed(const Layer& layer, const MemoryRules& rules, Bytes element) {
  if (layer.kind == LayerKind::dropout && rules.dropout_mask == DropoutMask::value)
    return layer.in_elements * element;
  if (layer.kind == LayerKind::max_pool && rules.pooling_indices == PoolingIndices::none) return {};
  return layer.saved_fixed;
}

Bytes kept_by(const Layer& layer, const MemorySetting& setting, const MemoryRules& rules) {
  const Bytes element = element_sizes(setting.precision).activation;
  Bytes sum = block_size(setting.batch * saved_values(layer, setting.precision), rules) +
              block_size(setting.batch * kept_fixed(layer, rules, element), rules);
  for (const KeptValues& kept : rules.kept) {
    if (!applies(kept, layer, setting)) continue;
    const Bytes value = kept.of == KeptDtype::fp32 ? Bytes(4) : element;
    sum += block_size(setting.batch * kept.values * layer.in_elements * value, rules);
  }
  return sum;
}

/// The activations that layers keep of one micro-batch until its backward pass.
Bytes kept_of(const std::vector<Layer>& layers, const MemorySetting& setting) {
  Bytes sum;
  for (const Layer& layer : layers) {
    sum += setting.rules ? kept_by(layer, setting, *setting.rules)
                         : setting.batch * (saved_values(layer, setting.precision) + layer.saved_fixed);
  }
  return sum;
}

/// The sum of `state_of` over all values. Each rank holds one part of values that are divided.
template <typename StateOf>
auto held_part(const std::map<std::optional<Axis>, double>& values, bool is_divided,
               const StateShards& shards, StateOf state_of) {
  decltype(state_of(0.0)) sum{};
  for (const auto& [axis, elements] : values) {
    const auto ranks = axis ? shards.ranks.find(*axis) : shards.ranks.end();
    const bool is_shared = is_divided && ranks != shards.ranks.end();
    sum += state_of(elements) / static_cast<double>(is_shared ? ranks->second : 1);
  }
  return sum;
}

/// Held by one rank under the stack's rules besides the state of the optimizer.
Bytes copies_of_parameters(double parameters, const MemorySetting& setting, const MemoryRules& rules) {
  Bytes sum;
  for (const ParameterCopies& copies : rules.parameter_copies) {
    if (copies.fusible && setting.fused_elementwise) continue;
    if (!is_in(copies.optimizers, setting.optimizer) || !is_in(copies.only, setting.precision)) continue;
    sum += parameters * copies.values * state_value;
  }
  return sum;
}

}  // namespace

Bytes total(const MemoryTerms& terms) {
  Bytes sum;
  for (const MemoryTerm& term : memory_terms) sum += terms.*term.bytes;
  return sum;
}

bool is_listed(const MemoryTerms& terms, const MemoryTerm& term) {
  if (term.bytes == &MemoryTerms::server && terms.server == Bytes()) return false;
  return (terms.stated > Bytes()) == (term.bytes == &MemoryTerms::stated);
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
    case Optimizer::lars:
      return 1;
    case Optimizer::adam:
    case Optimizer::lamb:
      return 2;
  }
  return 0;
}

Bytes activations_per_sample(const std::vector<Layer>& layers, Precision precision) {
  const Bytes element = element_sizes(precision).activation;
  double transient = 0;
  for (const Layer& layer : layers) transient = std::max(transient, layer.in_elements + layer.out_elements);
  return saved_activations(layers, precision) + transient * element;
}

Bytes kept_activations(const std::vector<Layer>& layers, const MemorySetting& setting,
                       const MemoryRules& rules) {
  const Bytes element = element_sizes(setting.precision).activation;
  Bytes kept;
  Bytes most;
  for (const Layer& layer : layers) {
    kept += kept_by(layer, setting, rules);
    const Bytes gradients = setting.batch * (layer.in_elements + layer.out_elements) * element;
    most = std::max(most, kept + block_size(gradients, rules));
  }
  return most;
}

Bytes block_size(Bytes tensor, const MemoryRules& rules) {
  const bool is_large = tensor >= rules.large_from.value && rules.large_rounding;
  const Bytes unit = is_large ? rules.large_rounding->value : rules.rounding.value;
  return std::ceil(tensor / unit) * unit;
}

Bytes workspace(const std::vector<Layer>& layers, const std::optional<MemoryRules>& rules) {
  const Bytes convolutions = rules && rules->workspace ? rules->workspace->value : cudnn_workspace;
  const bool has_convolutions = std::ranges::any_of(layers, is_convolution);
  return cublas_workspace + (has_convolutions ? convolutions : Bytes());
}

namespace {

Bytes activations(const std::vector<Layer>& layers, const MemorySetting& setting) {
  if (setting.fullest) return setting.fullest->activations;
  return setting.rules ? kept_activations(layers, setting, *setting.rules)
                       : setting.batch * activations_per_sample(layers, setting.precision);
}

Bytes workspace(const std::vector<Layer>& layers, const MemorySetting& setting) {
  if (!setting.fullest) return workspace(layers, setting.rules);
  const bool is_stated = setting.rules && setting.rules->workspace;
  const bool has_convolutions = std::ranges::any_of(layers, is_convolution);
  return setting.fullest->workspace +
         (is_stated && has_convolutions ? setting.rules->workspace->value : Bytes());
}

}  // namespace

MemoryTerms memory_per_rank(const std::vector<Layer>& layers, const MemorySetting& setting,
                            const std::vector<Layer>& earlier) {
  if (setting.batch < 0) throw InputError(fmt::format("the batch is {} samples", setting.batch));
  const ElementSizes sizes = element_sizes(setting.precision);
  MemoryTerms terms;
  const StateShards& shards = setting.shards;
  const auto elements = [](double parameters) { return parameters; };
  const auto parameters = parameters_by_axis(layers);
  terms.parameters = (held_part(parameters, shards.parameters, shards, elements) +
                      setting.gathered_parameters + copied_parameters(layers)) *
                     (sizes.writes_copy ? sizes.compute_weight : sizes.parameter);
  if (is_narrow(setting.precision) && !shards.parameters)
    terms.parameters += weights_in_8_bits(layers) * 2 * narrow_values(setting.precision).each;
  const std::optional<FullestMoment>& fullest = setting.fullest;
  if (fullest)
    terms.parameters += fullest->weight_copies;
  else if (sizes.casts)
    terms.parameters += matrix_parameters(layers) * sizes.compute_weight;
  if (fullest) terms.gradients = fullest->gradients;
  if (!fullest || setting.has_earlier_gradients || setting.buffered_gradient)
    terms.gradients +=
        held_part(gradients_by_axis(layers, setting.batch), shards.gradients, shards, elements) *
        setting.buffered_gradient.value_or(sizes.gradient);
  terms.optimizer_state = held_part(parameters, shards.optimizer, shards, [&](double some) {
    if (!setting.has_optimizer) return Bytes();
    Bytes state = some * optimizer_states(setting.optimizer) * sizes.parameter;
    if (sizes.writes_copy) state += some * sizes.parameter;
    if (setting.rules) state += copies_of_parameters(some, setting, *setting.rules);
    return state;
  });
  if (fullest) terms.optimizer_state += fullest->update;
  terms.activations = activations(layers, setting);
  terms.activations += normalised_parameters(layers) * sizes.compute_weight;
  if (setting.earlier_micro_batches > 0)
    terms.activations +=
        setting.earlier_micro_batches * (fullest ? fullest->kept : kept_of(earlier, setting));
  terms.workspace = workspace(layers, setting);
  terms.context = setting.context;
  terms.gradient_buckets = setting.gradient_buckets;
  terms.communication_buffers = setting.communication_buffers;
  terms.server = setting.server;
  if (setting.rules) {
    terms.fragmentation = (setting.rules->fragmentation.value - 1) *
                          (terms.parameters + terms.gradients + terms.optimizer_state + terms.activations +
                           terms.workspace + terms.gradient_buckets + terms.server);
  }
  return terms;
}

}  // namespace trainyard
