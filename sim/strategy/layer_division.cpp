#include "strategy/layer_division.hpp"

#include "strategy/layer_rule_checks.hpp"
#include "strategy/space_division.hpp"
#include "units/ids.hpp"
#include "workload/feature_tables.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

/// The values that pass from one layer to the next on a rank.
enum class Share {
  own_samples,   ///< all values of its own samples
  own_features,  ///< its share of the values of all samples
  own_space      ///< its part of the maps of all samples
};

constexpr Bytes fp32_size{4};

/// The largest share of a rank.
int part(int count, int replicas) { return (count + replicas - 1) / replicas; }

/// Copies the members of a layer that do not depend on the size.
Layer like(const Layer& layer, Layer made) {
  made.has_input_gradient = layer.has_input_gradient;
  made.block = layer.block;
  made.split = TensorSplit::none;
  made.normalises_weights = layer.normalises_weights;
  made.stays_in_16_bits = layer.stays_in_16_bits;
  made.summed_over = std::nullopt;
  return made;
}

/// Outputs of a linear layer.
struct Columns {
  int whole = 0;  ///< of all ranks
  int held = 0;   ///< by the rank with the most
  int drawn = 0;  ///< number that is drawn; all without sampling
};

/// The least number of two digits that is not below 1/n.
double rounded_up_part(int n) {
  constexpr double base = 10;
  constexpr double rounding = 1e-9;
  double second = 1;  // the value of the second digit
  while (base * second * n > 1) second /= base;
  return std::ceil(1 / (second * n) - rounding) * second;
}

Columns columns_of(const Layer& layer, const PlacedRule& placed, int replicas) {
  const int held = part(layer.out_shape.back(), replicas);
  const Columns columns{layer.out_shape.back(), held,
                        static_cast<int>(std::floor(placed.rule.sample * held))};
  if (columns.drawn < 1)
    placed.refuse("sample",
                  fmt::format("layer '{}' draws less than one of a rank's {} outputs", layer.name, held),
                  fmt::format("sample: {:.2g} or more", rounded_up_part(held)));
  return columns;
}

/// The share of a rank in a linear layer, for `samples` times its own samples.
Layer linear_part(const Layer& layer, const Columns& columns, int samples) {
  const LinearSize size{samples * rows_of(layer), layer.in_shape.back(), columns.drawn};
  const bool has_bias = layer.parameters.size() > 1;
  Layer made = like(layer, linear_layer(layer.name, size, has_bias));
  if (columns.drawn < columns.held) {
    made.parameters = linear_layer(layer.name, {1, size.in, columns.held}, has_bias).parameters;
    made.drawn = static_cast<double>(columns.drawn) / columns.held;
  }
  if (!layer.has_input_gradient) set_reads_data(made);
  return made;
}

/// Leaves a rank's share of the values of a layer without parameters: its columns of `samples` times its own
/// samples.
void leave_columns(Layer& layer, const Columns& columns, int samples) {
  const double share = static_cast<double>(samples) * columns.drawn / columns.whole;
  layer.forward_flops = share * layer.forward_flops;
  layer.backward_flops = share * layer.backward_flops;
  layer.in_elements *= share;
  layer.saved_elements *= share;
  layer.saved_fixed = share * layer.saved_fixed;
  layer.forward_rw_elements *= share;
  layer.backward_rw_elements *= share;
  const auto divide = [&](std::vector<int>& shape) {
    const double features = static_cast<double>(shape.back()) * columns.drawn / columns.whole;
    shape.back() = static_cast<int>(std::lround(features));
    if (shape.size() > 1) shape.front() *= samples;
  };
  divide(layer.in_shape);
  if (traits(layer.kind).is_loss) return;  // its output is the loss
  divide(layer.out_shape);
  layer.out_elements *= share;
}

Layer table_part(const Layer& layer, LayerSplit split, int replicas) {
  FeatureTables tables = tables_of(layer);
  tables.samples = replicas;
  if (split == LayerSplit::columns) {
    tables.features = part(tables.features, replicas);
  } else if (split == LayerSplit::rows) {
    for (double& entries : tables.entries) entries = std::ceil(entries / replicas);
  }
  Layer made = like(layer, tables_layer(layer.name, tables));
  if (split != LayerSplit::columns)
    made.sparse_elements /= replicas;                           // of the rows looked up it has one part
  if (split == LayerSplit::hash) made.in_elements /= replicas;  // it is given only the keys of its rows
  return made;
}

/// Whether the layer computes each output from one input at the same place.
bool works_on_single_values(const Layer& layer) {
  return layer.kind == LayerKind::relu || layer.kind == LayerKind::gelu || layer.kind == LayerKind::swish ||
         layer.kind == LayerKind::silu || layer.kind == LayerKind::geglu ||
         layer.kind == LayerKind::sigmoid || layer.kind == LayerKind::tanh ||
         layer.kind == LayerKind::dropout || layer.kind == LayerKind::margin;
}

class Division {
public:
  Division(ShardedModel model, const std::vector<LayerRule>& rules, DividingRanks among)
      : model_(std::move(model)), rules_(rules), among_(among), replicas_(among.count) {}

  ShardedModel divided() {
    for (std::size_t i = 0; i < model_.layers.size(); ++i) visit(static_cast<int>(i));
    if (share_ == Share::own_features)  // the loss is not among the layers
      exchange_loss(static_cast<int>(model_.layers.size()) - 1);
    std::ranges::stable_sort(model_.transfers, {}, &Transfer::layer);
    return std::move(model_);
  }

private:
  void visit(int number) {
    Layer& layer = model_.layers[at(number)];
    const LayerRule* rule = rule_of(layer);
    if (turns_ != LayerTurns::none) require_turns(number, layer, rule);
    if (share_ != Share::own_samples) require_chain(number, layer);
    if (rule != nullptr) {
      const std::optional<Axis> summed_over = layer.summed_over;
      if (layer.kind == LayerKind::linear)
        divide_linear(number, layer, *rule);
      else if (rule->split == LayerSplit::space)
        divide_space(number, layer, *rule);
      else
        divide_table(number, layer, rule->split);
      const bool holds_copy = is_convolution(layer);  // every rank has all weights of a convolution
      if (replicas_ == 1 || holds_copy)
        layer.summed_over = summed_over;
      else if (among_.has_copies)
        layer.summed_over = Axis::layer_data;
    } else if (share_ == Share::own_features && works_on_single_values(layer)) {
      leave_columns(layer, columns_, samples());
    } else if (share_ == Share::own_features) {
      end_division(number, layer);
    } else if (share_ == Share::own_space && (has_space(layer) || works_at_places(layer))) {
      leave_space(number, layer);
    } else if (share_ == Share::own_space) {
      end_space(number, layer);
    }
  }

  /// Whether the layer computes each value from those at the same place of a map.
  static bool works_at_places(const Layer& layer) {
    return works_on_single_values(layer) || layer.kind == LayerKind::local_response_norm;
  }

  void divide_space(int number, Layer& layer, const LayerRule& rule) {
    if (share_ == Share::own_features)
      PlacedRule{rule, rules_}.refuse(
          "match", fmt::format("layer '{}' reads columns, and needs a part of a map", layer.name),
          "divide maps before linear layers");
    last_ = &rule;
    if (share_ == Share::own_space) {
      leave_space(number, layer);
      return;
    }
    grid_ = space_grid(replicas_, layer.in_shape[1], layer.in_shape[2]);
    SpacePart part = space_part(layer, grid_);
    layer = like(layer, std::move(part.layer));
    append_both_ways(number, layer, Operation::all_to_all, part.reads);
    share_ = Share::own_space;
  }

  /// A layer that reads a part of a map and its edges from neighbours.
  void leave_space(int number, Layer& layer) {
    if (is_convolution(layer) && rule_of(layer) == nullptr) {
      end_space(number, layer);
      return;
    }
    SpacePart part = space_part(layer, grid_);
    layer = has_space(layer) ? like(layer, std::move(part.layer)) : std::move(part.layer);
    for (const double halo : {part.rows_halo, part.columns_halo})
      if (halo > 0) append_both_ways(number, layer, Operation::send_recv, halo);
  }

  /// Inputs before the forward pass, and their gradients after the backward pass.
  void append_both_ways(int number, const Layer& layer, Operation operation, double elements) {
    append(number, Phase::forward, TransferPlace::before, operation, elements);
    if (layer.has_input_gradient) append(number, Phase::backward, TransferPlace::after, operation, elements);
  }

  /// The first layer that needs whole maps.
  void end_space(int number, Layer& layer) {
    if (joins(layer))
      last_rule().refuse("match", fmt::format("layer '{}' joins parts of maps with other values", layer.name),
                         "divide layers outside residual connections");
    append(number, Phase::forward, TransferPlace::before, Operation::all_to_all, layer.in_elements);
    append(number, Phase::backward, TransferPlace::after, Operation::all_to_all, layer.in_elements);
    share_ = Share::own_samples;
  }

  static bool joins(const Layer& layer) {
    return layer.kind == LayerKind::add || layer.kind == LayerKind::multiply ||
           layer.kind == LayerKind::concat;
  }

  /// Layers that one replica has alone only draw outputs.
  [[nodiscard]] const LayerRule* rule_of(const Layer& layer) const {
    const LayerRule* rule = rule_for(layer.name, rules_);
    return replicas_ == 1 && rule != nullptr && rule->sample == 1 ? nullptr : rule;
  }

  /// The rule of the last linear layer that was divided.
  [[nodiscard]] PlacedRule last_rule() const { return {*last_, rules_}; }

  /// The samples that a divided layer works on, in those of one replica.
  [[nodiscard]] int samples() const { return turns_ == LayerTurns::none ? replicas_ : 1; }

  /// A layer after the first one with turns.
  void require_turns(int number, const Layer& layer, const LayerRule* rule) const {
    if (rule != nullptr && rule->turns == turns_) return;
    if (rule != nullptr)
      PlacedRule{*rule, rules_}.refuse(
          "turns",
          fmt::format("layer '{}' does not take the turns of the model-parallel layers before", layer.name),
          fmt::format("turns: {} for all of them", config::name_of(turns_)));
    const bool is_loss =
        layer.kind == LayerKind::softmax_cross_entropy && at(number) + 1 == model_.layers.size();
    if (is_loss || works_on_single_values(layer)) return;
    last_rule().refuse(
        "turns",
        fmt::format("layer '{}' needs whole samples, but comes after layers that take turns", layer.name),
        "turns: none, or rules for all layers up to the loss");
  }

  /// Values of divided layers pass from each layer to the next, and to no other.
  void require_chain(int number, const Layer& layer) const {
    if (layer.continues_previous) return;
    last_rule().refuse("match",
                       fmt::format("layer '{}' is not the only one that reads '{}', or does not read it",
                                   layer.name, model_.layers[at(number - 1)].name),
                       "divide layers outside branches");
  }

  void divide_linear(int number, Layer& layer, const LayerRule& rule) {
    if (share_ == Share::own_features && columns_.drawn < columns_.held)
      last_rule().refuse("sample", fmt::format("layer '{}' reads outputs that another one draws", layer.name),
                         "sample: only for the last linear layer, in a rule of its own");
    last_ = &rule;
    const bool begins = rule.turns != LayerTurns::none && turns_ == LayerTurns::none;
    if (begins && share_ == Share::own_features)
      last_rule().refuse(
          "turns",
          fmt::format("layer '{}' takes turns, but the model-parallel layers before do not", layer.name),
          "the same turns for all of them");
    turns_ = rule.turns;
    columns_ = columns_of(layer, last_rule(), replicas_);
    layer = linear_part(layer, columns_, samples());
    rows_ = rows_of(layer);
    share_ = Share::own_features;
    if (begins) {
      keep_inputs_of_turns(layer);
      return;
    }
    append(number, Phase::forward, TransferPlace::before, Operation::all_gather, layer.in_elements);
    if (layer.drawn < 1) gather_indices(number, rows_, TransferPlace::before);
    if (layer.has_input_gradient)
      append(number, Phase::backward, TransferPlace::after, Operation::reduce_scatter, layer.in_elements);
  }

  /// Own inputs, or already their gradients, those of this turn and the next; with more turns than two also
  /// gradients on their way back.
  void keep_inputs_of_turns(Layer& layer) const {
    constexpr int of_two_turns = 3;
    const bool sends_back = layer.has_input_gradient && replicas_ > 2;
    layer.saved_elements = (of_two_turns + (sends_back ? 1 : 0)) * layer.in_elements;
  }

  void divide_table(int number, Layer& layer, LayerSplit split) {
    const double values = layer.out_elements;  // of its own samples
    if (split != LayerSplit::hash)             // the hosts give every rank its keys of all samples
      gather_indices(number, 1.0 * replicas_ * layer.in_shape.front(), TransferPlace::before);
    layer = table_part(layer, split, replicas_);
    if (split == LayerSplit::columns) {
      append(number, Phase::forward, TransferPlace::after, Operation::all_to_all, values);
      append(number, Phase::backward, TransferPlace::before, Operation::all_to_all, values);
    } else {
      append(number, Phase::forward, TransferPlace::after, Operation::reduce_scatter, replicas_ * values);
      append(number, Phase::backward, TransferPlace::before, Operation::all_gather, replicas_ * values);
    }
  }

  /// The first layer that needs more than the rank's share of the values.
  void end_division(int number, Layer& layer) {
    if (layer.kind == LayerKind::softmax_cross_entropy) {
      leave_columns(layer, columns_, samples());
      exchange_loss(number);
    } else if (layer.kind == LayerKind::sigmoid_cross_entropy && columns_.drawn == columns_.held) {
      leave_columns(layer, columns_, samples());  // each output has a loss of its own: one sum is left
      gather_indices(number, rows_, TransferPlace::after);
      append_fp32(number, Operation::all_reduce, rows_, TransferPlace::after);
    } else if (columns_.drawn < columns_.held) {
      last_rule().refuse("sample", fmt::format("layer '{}' reads outputs that another one draws", layer.name),
                         "sample: only for the last linear layer before the loss");
    } else if (joins(layer)) {
      last_rule().refuse(
          "match", fmt::format("layer '{}' joins values of model-parallel layers with others", layer.name),
          "divide layers outside residual connections");
    } else {
      append(number, Phase::forward, TransferPlace::before, Operation::all_to_all, layer.in_elements);
      append(number, Phase::backward, TransferPlace::after, Operation::all_to_all, layer.in_elements);
    }
    share_ = Share::own_samples;
  }

  void exchange_loss(int number) {
    if (turns_ == LayerTurns::none && columns_.drawn == columns_.held)
      gather_indices(number, rows_, TransferPlace::after);
    constexpr int reductions = 3;
    for (int i = 0; i < reductions; ++i)
      append_fp32(number, Operation::all_reduce, rows_, TransferPlace::after);
  }

  /// Indices or labels.
  void gather_indices(int number, double count, TransferPlace place) {
    append_fp32(number, Operation::all_gather, count * (index_size / fp32_size), place);
  }

  void append(int layer, Phase phase, TransferPlace place, Operation operation, double elements,
              TransferDtype of = TransferDtype::activation) {
    if (replicas_ > 1)
      model_.transfers.push_back({layer, phase, place, operation, among_.axis(), elements, of});
  }

  void append_fp32(int layer, Operation operation, double elements, TransferPlace place) {
    append(layer, Phase::forward, place, operation, elements, TransferDtype::fp32);
  }

  ShardedModel model_;
  const std::vector<LayerRule>& rules_;
  DividingRanks among_;
  int replicas_;
  Share share_ = Share::own_samples;
  LayerTurns turns_ = LayerTurns::none;
  SpaceGrid grid_ = {};
  const LayerRule* last_ = nullptr;  ///< of the last linear layer or map that was divided
  Columns columns_ = {};             ///< of the last linear layer that was divided
  int rows_ = 0;                     ///< of all samples that it works on
};

}  // namespace

int rows_of(const Layer& layer) { return layer.in_shape.size() < 2 ? 1 : layer.in_shape.front(); }

ShardedModel divide_among_replicas(ShardedModel model, const std::vector<LayerRule>& rules,
                                   DividingRanks among) {
  check_rules(model, rules, among.count);
  return Division(std::move(model), rules, among).divided();
}

}  // namespace trainyard
