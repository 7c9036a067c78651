#include "lowering/lowered_memory.hpp"

#include "lowering/layer_values.hpp"
#include "lowering/typed_layers.hpp"
#include "workload/eight_bits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

namespace trainyard {
namespace {

Bytes sum(const FullestMoment& moment) {
  return moment.weight_copies + moment.gradients + moment.activations + moment.update;
}

bool is_of_weights(KernelValues of) {
  return of == KernelValues::weights || of == KernelValues::bias || of == KernelValues::parameters;
}

std::vector<TensorRule> of_weights(const std::vector<TensorRule>& all) {
  std::vector<TensorRule> some;
  std::ranges::copy_if(all, std::back_inserter(some), is_of_weights, &TensorRule::of);
  return some;
}

/// Bytes that a layer keeps for backward.
struct Kept {
  Bytes weight_copies, activations;
};

class Walk {
public:
  Walk(const std::vector<Layer>& layers, const Lowering& rules, const LoweredStep& step,
       const MemorySetting& setting)
      : rules_(rules),
        step_(step),
        setting_(setting),
        allocator_(setting.rules.value_or(MemoryRules{})),
        sizes_(element_sizes(step.precision)),
        model_(step.part ? step.part->traits : traits_of(layers)),
        layers_(typed_layers(layers, model_, rules, sizes_, step.part ? step.part->before : std::nullopt)) {
    find_kept_inputs();
  }

  FullestMoment fullest() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      go_forward(layers_[i]);
      now_.activations -= dropped(i);
      if (is_recomputed(i) && !is_same_block(i, i + 1)) keep_input_of_block(i);
    }
    const Bytes kept = now_.activations;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      if (is_recomputed(i) && !is_same_block(i, i + 1)) recompute_block(i);
      if (!setting_.not_kept.empty() && !is_same_block(i, i + 1)) compute_parts(i);
      go_backward(layers_[i]);
      if (is_recomputed(i) && (i == 0 || !is_same_block(i - 1, i))) now_.activations -= input_of(i);
    }
    update();
    fullest_.workspace = rules_.workspace;
    fullest_.kept = kept;
    return fullest_;
  }

private:
  void find_kept_inputs() {
    for (std::size_t i = 1; i < layers_.size(); ++i) {
      const TypedLayer& before = layers_[i - 1];
      const bool is_next_projection = before.of_layer == layers_[i].of_layer;
      layers_[i].keeps_before =
          is_next_projection || (layers_[i].layer.continues_previous && keeps_result(before));
    }
  }

  [[nodiscard]] bool keeps_result(const TypedLayer& typed) const {
    const LayerRules* rules = rules_of(rules_, typed.layer);
    if (rules == nullptr) return false;
    const LayerValues values = values_of(typed);
    const std::vector<TensorRule>& kept = list(*rules, &LayerRules::kept, &PassRules::kept);
    return std::ranges::any_of(kept, [&](const TensorRule& rule) {
      return rule.of == KernelValues::output && rule.passes > 0 && values.size(rule.type) == typed.result &&
             values.hold(rule.when);
    });
  }

  void go_forward(const TypedLayer& typed) {
    const Kept kept = kept_of(typed);
    now_.weight_copies += kept.weight_copies;
    now_.activations += kept.activations;
    const LayerRules* rules = rules_of(rules_, typed.layer);
    compare(rules == nullptr ? Bytes() : size_of(list(*rules, &LayerRules::held, &PassRules::held), typed));
  }

  void go_backward(const TypedLayer& typed) {
    const LayerRules* rules = rules_of(rules_, typed.layer);
    compare(rules == nullptr
                ? gradients_of_ends(typed.layer)
                : size_of(list(*rules, &LayerRules::held_backward, &PassRules::held_backward), typed));
    const Kept kept = kept_of(typed);
    now_.weight_copies -= kept.weight_copies;
    now_.activations -= kept.activations;
    const Bytes gradients = new_gradients(typed) * sizes_.gradient;
    now_.gradients += gradients;
    compare(rules == nullptr
                ? Bytes()
                : size_of(of_weights(list(*rules, &LayerRules::held_backward, &PassRules::held_backward)),
                          typed));  // being cast
    if (has_gradients()) now_.gradients -= gradients;
  }

  [[nodiscard]] bool is_recomputed(std::size_t i) const { return step_.recomputes && layers_[i].layer.block; }

  [[nodiscard]] bool is_same_block(std::size_t i, std::size_t next) const {
    return next < layers_.size() && layers_[i].layer.block == layers_[next].layer.block;
  }

  [[nodiscard]] Bytes input_of(std::size_t i) const {
    return size_of({.of = KernelValues::input, .passes = 1, .type = PassType::input}, layers_[i]);
  }

  /// Keeps only the input of the block that ends with layer `last`.
  void keep_input_of_block(std::size_t last) {
    for (std::size_t i = last;; --i) {
      const Kept kept = kept_of(layers_[i]);
      now_.weight_copies -= kept.weight_copies;
      now_.activations -= kept.activations;
      if (i > 0 && is_same_block(i - 1, i)) continue;
      now_.activations += input_of(i);
      return;
    }
  }

  /// Runs the block's forward pass again, which keeps everything.
  void recompute_block(std::size_t last) {
    for (std::size_t i = last + 1; i-- > 0 && is_same_block(i, last);) {
      const Kept kept = kept_of(layers_[i]);
      now_.weight_copies += kept.weight_copies;
      now_.activations += kept.activations;
    }
    compare();
  }

  /// The values of a layer that backward computes again, and nothing keeps until then.
  [[nodiscard]] Bytes dropped(std::size_t i) const {
    const TypedLayer& typed = layers_[i];
    if (setting_.not_kept.empty() || typed.of_layer < 0) return {};
    const NotKept what = setting_.not_kept[static_cast<std::size_t>(typed.of_layer)];
    if (what == NotKept::nothing) return {};
    const Bytes all = kept_of(typed).activations;
    if (what == NotKept::all) return all;
    constexpr std::array inputs{KernelValues::input, KernelValues::queries, KernelValues::keys};
    const LayerRules* rules = rules_of(rules_, typed.layer);
    if (rules == nullptr) return std::min(all, input_of(i));
    std::vector<TensorRule> read;
    std::ranges::copy_if(
        list(*rules, &LayerRules::kept, &PassRules::kept), std::back_inserter(read),
        [&](KernelValues of) { return std::ranges::find(inputs, of) != inputs.end(); }, &TensorRule::of);
    return size_of(read, typed);
  }

  /// Computes the discarded values of the block that ends with layer `last` again.
  void compute_parts(std::size_t last) {
    for (std::size_t i = last + 1; i-- > 0 && is_same_block(i, last);) now_.activations += dropped(i);
    compare();
  }

  void update() {
    const OptimizerRules* rules = rules_of(rules_, step_.optimizer, step_.optimizer_kernels);
    if (rules == nullptr || !setting_.has_optimizer) return;
    for (const TypedLayer& typed : layers_)
      now_.update += rules->held * own_parameters(typed.layer) * sizes_.parameter;
    compare();
  }

  /// Number of a layer's parameters for which the rank has the optimizer state.
  [[nodiscard]] double own_parameters(const Layer& layer) const {
    const StateShards& shards = setting_.shards;
    const auto ranks = layer.summed_over ? shards.ranks.find(*layer.summed_over) : shards.ranks.end();
    const bool is_whole = !shards.optimizer || ranks == shards.ranks.end();
    return parameter_elements(layer) / (is_whole ? 1 : ranks->second);
  }

  void compare(Bytes held = {}) {
    FullestMoment moment = now_;
    moment.activations += held;
    if (sum(moment) > sum(fullest_)) fullest_ = moment;
  }

  [[nodiscard]] Kept kept_of(const TypedLayer& typed) const {
    const Layer& layer = typed.layer;
    const LayerRules* rules = rules_of(rules_, layer);
    Kept kept;
    if (rules == nullptr) {
      kept.activations = block_size(step_.batch * saved_values(layer, step_.precision), allocator_) +
                         block_size(step_.batch * layer.saved_fixed, allocator_);
      return kept;
    }
    for (const TensorRule& rule : list(*rules, &LayerRules::kept, &PassRules::kept))
      (is_of_weights(rule.of) ? kept.weight_copies : kept.activations) += size_of(rule, typed);
    return kept;
  }

  [[nodiscard]] Bytes gradients_of_ends(const Layer& layer) const {
    const Bytes both = step_.batch * (layer.in_elements + layer.out_elements) * sizes_.activation;
    return block_size(both, allocator_);
  }

  /// Values of the gradients that do not exist yet. A table's comes with the last layer that uses the table.
  double new_gradients(const TypedLayer& typed) {
    const Layer& layer = typed.layer;
    if (layer.tied_elements > 0)
      return gradient_elements(layer, step_.batch) +
             (tables_.insert(layer.tied_to).second ? layer.tied_elements : 0);
    const bool is_table = layer.kind == LayerKind::embedding && !layer.adds_rows;
    const bool is_there = tables_.contains(layer.name) || (is_table && tables_.contains(""));
    return is_there ? 0 : gradient_elements(layer, step_.batch);
  }

  /// A layer's list of tensors: the compiler's, if it runs and has one.
  [[nodiscard]] const std::vector<TensorRule>& list(const LayerRules& rules,
                                                    std::vector<TensorRule> LayerRules::*eager,
                                                    std::vector<TensorRule> PassRules::*compiled) const {
    const bool is_other =
        step_.runtime != Runtime::eager && rules.compiled && !((*rules.compiled).*compiled).empty();
    return is_other ? (*rules.compiled).*compiled : rules.*eager;
  }

  [[nodiscard]] bool has_gradients() const {
    return setting_.has_earlier_gradients || setting_.buffered_gradient.has_value();
  }

  [[nodiscard]] Bytes size_of(const std::vector<TensorRule>& all, const TypedLayer& typed) const {
    Bytes bytes;
    for (const TensorRule& rule : all) bytes += size_of(rule, typed);
    return bytes;
  }

  [[nodiscard]] Bytes size_of(const TensorRule& rule, const TypedLayer& typed) const {
    const LayerValues values = values_of(typed);
    if (!values.hold(rule.when)) return {};
    return block_size(values.number(rule.of) * (rule.passes * values.size(rule.type) + Bytes(rule.bytes)),
                      allocator_);
  }

  [[nodiscard]] LayerValues values_of(const TypedLayer& typed) const {
    return {typed, step_, sizes_, model_};
  }

  const Lowering& rules_;
  const LoweredStep& step_;
  const MemorySetting& setting_;
  MemoryRules allocator_;
  ElementSizes sizes_;
  ModelTraits model_;
  std::vector<TypedLayer> layers_;
  std::set<std::string> tables_;  ///< whose gradients exist, by their name in tied layers
  FullestMoment now_, fullest_;
};

}  // namespace

FullestMoment fullest_moment(const std::vector<Layer>& layers, const Lowering& rules, const LoweredStep& step,
                             const MemorySetting& setting) {
  return Walk(layers, rules, step, setting).fullest();
}

}  // namespace trainyard
