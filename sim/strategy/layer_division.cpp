#include "strategy/layer_division.hpp"

#include "strategy/layout_refusal.hpp"
#include "units/ids.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

/// The values that pass from one layer to the next on a rank.
enum class Share {
  own_samples,  ///< all values of its own samples
  own_features  ///< its share of the values of all samples
};

constexpr double index_elements = 2;  ///< an index or a label of 8 bytes, in units of 4 bytes

[[noreturn]] void refuse_rule(std::string message, std::string hint) {
  refuse_layout("layers", std::move(message), std::move(hint));
}

bool is_matched(const LayerRule& rule, const Layer& layer) {
  return fnmatch(rule.match.c_str(), layer.name.c_str(), 0) == 0;
}

const LayerRule* rule_of(const Layer& layer, const std::vector<LayerRule>& rules) {
  const auto found =
      std::ranges::find_if(rules, [&](const LayerRule& one) { return is_matched(one, layer); });
  return found == rules.end() ? nullptr : &*found;
}

void require_matches(const std::vector<Layer>& layers, const std::vector<LayerRule>& rules) {
  for (const LayerRule& rule : rules) {
    if (std::ranges::any_of(layers, [&](const Layer& layer) { return is_matched(rule, layer); })) continue;
    const auto last = std::find_if(layers.rbegin(), layers.rend(),
                                   [](const Layer& layer) { return layer.kind == LayerKind::linear; });
    refuse_rule(fmt::format("no layer of the model is called '{}'", rule.match),
                last == layers.rend() ? "see 'trainyard model' for the layers"
                                      : fmt::format("such as match: {}", last->name));
  }
}

/// Whether the ranks of tensor groups hold parts of the layer already.
bool has_tensor_parts(const ShardedModel& model, const Layer& layer) {
  const bool has_groups =
      std::ranges::find(model.transfers, Axis::tensor, &Transfer::axis) != model.transfers.end();
  return has_groups && (layer.split == TensorSplit::columns || layer.split == TensorSplit::rows ||
                        layer.split == TensorSplit::table);
}

void require_divisible(const Layer& layer, LayerSplit split, bool is_table_shared) {
  const bool is_table = layer.kind == LayerKind::embedding && layer.split != TensorSplit::tokens;
  if (layer.kind != LayerKind::linear && !is_table) {
    refuse_rule(fmt::format("layer '{}' ({}) cannot be divided among replicas", layer.name,
                            config::name_of(layer.kind)),
                "match linear layers and embedding tables");
  }
  if (layer.kind == LayerKind::linear && split == LayerSplit::rows)
    refuse_rule(fmt::format("layer '{}' is linear, and only tables are divided by rows", layer.name),
                "split: columns");
  if (layer.tied_elements > 0 || (is_table && is_table_shared)) {
    refuse_rule(fmt::format("layer '{}' shares its table with another layer", layer.name),
                "use a model whose last projection has weights of its own");
  }
  if (layer.experts > 0)
    refuse_rule(fmt::format("layer '{}' belongs to experts, which 'expert' divides", layer.name),
                "match other layers");
}

int rows_of(const Layer& layer) { return layer.in_shape.size() < 2 ? 1 : layer.in_shape.front(); }

/// As many as the rank with the most has.
int part(int count, int replicas) { return (count + replicas - 1) / replicas; }

/// Keeps what does not depend on the size.
Layer like(const Layer& layer, Layer made) {
  made.has_input_gradient = layer.has_input_gradient;
  made.block = layer.block;
  made.split = TensorSplit::none;
  made.summed_over = std::nullopt;
  return made;
}

/// Rows of the samples of all replicas.
int all_rows(const Layer& layer, int rows, int replicas) {
  const double all = static_cast<double>(rows) * replicas;
  if (all > std::numeric_limits<int>::max())
    refuse_rule(
        fmt::format("layer '{}' has {:.0f} rows in {} replicas, more than 2^31", layer.name, all, replicas),
        "match other layers, or use fewer ranks");
  return static_cast<int>(all);
}

Layer linear_part(const Layer& layer, int replicas) {
  const LinearSize size{all_rows(layer, rows_of(layer), replicas), layer.in_shape.back(),
                        part(layer.out_shape.back(), replicas)};
  Layer made = like(layer, linear_layer(layer.name, size, layer.parameters.size() > 1));
  if (!layer.has_input_gradient) set_reads_data(made);
  return made;
}

Layer table_part(const Layer& layer, LayerSplit split, int replicas) {
  const int features = layer.out_shape.back();
  const auto entries = static_cast<int>(parameter_elements(layer) / features);
  const int rows = all_rows(layer, layer.out_shape.front(), replicas);
  const bool has_columns = split == LayerSplit::columns;
  return like(layer,
              embedding_layer(layer.name, {.rows = rows,
                                           .entries = has_columns ? entries : part(entries, replicas),
                                           .features = has_columns ? part(features, replicas) : features}));
}

/// Whether the layer computes each output from one input at the same place.
bool works_on_single_values(const Layer& layer) {
  return layer.kind == LayerKind::relu || layer.kind == LayerKind::gelu || layer.kind == LayerKind::silu ||
         layer.kind == LayerKind::geglu || layer.kind == LayerKind::dropout;
}

class Division {
public:
  Division(ShardedModel model, const std::vector<LayerRule>& rules, int replicas)
      : model_(std::move(model)), rules_(rules), replicas_(replicas) {}

  ShardedModel divided() {
    for (std::size_t i = 0; i < model_.layers.size(); ++i) visit(static_cast<int>(i));
    if (share_ == Share::own_features) {  // the loss is not among the layers
      const Layer& last = model_.layers.back();
      const double rows = rows_of(last) * (last.summed_over ? static_cast<double>(replicas_) : 1);
      exchange_loss(static_cast<int>(model_.layers.size()) - 1, rows);
    }
    std::ranges::stable_sort(model_.transfers, {}, &Transfer::layer);
    return std::move(model_);
  }

private:
  void visit(int number) {
    Layer& layer = model_.layers[at(number)];
    if (const LayerRule* rule = rule_of(layer, rules_)) {
      if (layer.kind == LayerKind::linear)
        divide_linear(number, layer);
      else
        divide_table(number, layer, rule->split);
    } else if (share_ == Share::own_features && !works_on_single_values(layer)) {
      end_division(number, layer);
    }
  }

  void divide_linear(int number, Layer& layer) {
    layer = linear_part(layer, replicas_);
    append(number, Phase::forward, TransferPlace::before, Operation::all_gather, layer.in_elements);
    if (layer.has_input_gradient)
      append(number, Phase::backward, TransferPlace::after, Operation::reduce_scatter, layer.in_elements);
    share_ = Share::own_features;
  }

  void divide_table(int number, Layer& layer, LayerSplit split) {
    const double values = layer.out_elements;  // of its own samples
    append_fp32(number, Operation::all_gather, index_elements * layer.out_shape.front() * replicas_,
                TransferPlace::before);
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
  void end_division(int number, const Layer& layer) {
    if (layer.kind == LayerKind::softmax_cross_entropy) {
      exchange_loss(number, static_cast<double>(rows_of(layer)) * replicas_);
    } else if (layer.kind == LayerKind::add) {
      refuse_rule(fmt::format("layer '{}' adds values of divided layers to others", layer.name),
                  "divide layers outside residual connections");
    } else {
      append(number, Phase::forward, TransferPlace::before, Operation::all_to_all, layer.in_elements);
      append(number, Phase::backward, TransferPlace::after, Operation::all_to_all, layer.in_elements);
    }
    share_ = Share::own_samples;
  }

  /// `rows`: of all samples.
  void exchange_loss(int number, double rows) {
    append_fp32(number, Operation::all_gather, rows * index_elements, TransferPlace::after);
    constexpr int reductions = 3;
    for (int i = 0; i < reductions; ++i)
      append_fp32(number, Operation::all_reduce, rows, TransferPlace::after);
  }

  void append(int layer, Phase phase, TransferPlace place, Operation operation, double elements) {
    model_.transfers.push_back({layer, phase, place, operation, Axis::data, elements});
  }

  void append_fp32(int layer, Operation operation, double elements, TransferPlace place) {
    append(layer, Phase::forward, place, operation, elements);
    model_.transfers.back().of = TransferDtype::fp32;
  }

  ShardedModel model_;
  const std::vector<LayerRule>& rules_;
  int replicas_;
  Share share_ = Share::own_samples;
};

}  // namespace

ShardedModel divide_among_replicas(ShardedModel model, const std::vector<LayerRule>& rules, int replicas) {
  require_matches(model.layers, rules);
  const bool is_table_shared =
      std::ranges::any_of(model.layers, [](const Layer& layer) { return layer.tied_elements > 0; });
  for (const Layer& layer : model.layers) {
    const LayerRule* rule = rule_of(layer, rules);
    if (rule == nullptr) continue;
    require_divisible(layer, rule->split, is_table_shared);
    if (has_tensor_parts(model, layer))
      refuse_rule(fmt::format("the ranks of a tensor group divide layer '{}' already", layer.name),
                  "tensor: 1, or match other layers");
  }
  if (replicas == 1) return model;
  return Division(std::move(model), rules, replicas).divided();
}

}  // namespace trainyard
