#include "strategy/layer_rule_checks.hpp"

#include "strategy/layer_division.hpp"
#include "strategy/space_division.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace trainyard {
namespace {

/// Every rule counts for a layer: it matches one that no earlier rule does.
void require_matches(const std::vector<Layer>& layers, const std::vector<LayerRule>& rules) {
  for (const LayerRule& rule : rules) {
    const PlacedRule placed{rule, rules};
    if (std::ranges::any_of(layers, [&](const Layer& layer) { return rule_for(layer.name, rules) == &rule; }))
      continue;
    const auto matched =
        std::ranges::find_if(layers, [&](const Layer& layer) { return is_matched(rule, layer.name); });
    if (matched != layers.end()) {
      const std::string& earlier = rule_for(matched->name, rules)->match;
      placed.refuse("match",
                    fmt::format("'{}' counts for no layer: '{}' comes first and matches '{}'", rule.match,
                                earlier, matched->name),
                    fmt::format("leave it out, or put it before '{}'", earlier));
    }
    const auto last = std::find_if(layers.rbegin(), layers.rend(),
                                   [](const Layer& layer) { return layer.kind == LayerKind::linear; });
    placed.refuse("match", fmt::format("no layer of the model is called '{}'", rule.match),
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

void require_linear(const Layer& layer, const PlacedRule& placed) {
  if (layer.kind == LayerKind::linear) return;
  if (placed.rule.turns != LayerTurns::none)
    placed.refuse("turns",
                  fmt::format("layer '{}' is a table, and only linear layers take turns", layer.name),
                  "turns: none, in a rule of its own");
  if (placed.rule.sample < 1)
    placed.refuse(
        "sample",
        fmt::format("layer '{}' is a table, and only the outputs of a linear layer are drawn", layer.name),
        "sample: 1, in a rule of its own");
}

/// The rows of all replicas' samples are counted in an int.
void require_rows(const Layer& layer, const PlacedRule& placed, int replicas) {
  const int own = std::max({rows_of(layer), layer.in_shape.front(), layer.out_shape.front()});
  const double all = static_cast<double>(own) * replicas;
  if (all > std::numeric_limits<int>::max())
    placed.refuse(
        "match",
        fmt::format("layer '{}' has {:.0f} rows in {} replicas, more than 2^31", layer.name, all, replicas),
        "match other layers, or use fewer ranks");
}

void require_spatial(const Layer& layer, const PlacedRule& placed) {
  if (!has_space(layer))
    placed.refuse(
        "split",
        fmt::format("layer '{}' ({}) is not divided by space", layer.name, config::name_of(layer.kind)),
        "match convolutions and locally connected layers");
  if (placed.rule.turns != LayerTurns::none)
    placed.refuse("turns", fmt::format("layer '{}' is divided by space, and takes no turns", layer.name),
                  "turns: none");
  if (placed.rule.sample < 1)
    placed.refuse("sample", fmt::format("layer '{}' is divided by space, and draws no outputs", layer.name),
                  "sample: 1");
}

void require_divisible(const Layer& layer, const PlacedRule& placed, bool is_table_shared) {
  const bool is_table = layer.kind == LayerKind::embedding && !layer.adds_rows;
  if (placed.rule.split == LayerSplit::space) {
    require_spatial(layer, placed);
    return;
  }
  if (layer.kind != LayerKind::linear && !is_table) {
    placed.refuse("match",
                  fmt::format("layer '{}' ({}) cannot be divided among replicas", layer.name,
                              config::name_of(layer.kind)),
                  has_space(layer) ? "split: space" : "match linear layers and embedding tables");
  }
  if (layer.kind == LayerKind::linear && placed.rule.split != LayerSplit::columns)
    placed.refuse("split",
                  fmt::format("layer '{}' is linear, and only tables are divided by {}", layer.name,
                              config::name_of(placed.rule.split)),
                  "split: columns");
  if (layer.tied_elements > 0 || (is_table && is_table_shared)) {
    placed.refuse("match", fmt::format("layer '{}' shares its table with another layer", layer.name),
                  "use a model whose last projection has weights of its own");
  }
  if (layer.experts > 0)
    placed.refuse("match", fmt::format("layer '{}' belongs to experts, which 'expert' divides", layer.name),
                  "match other layers");
  require_linear(layer, placed);
  if (placed.rule.turns != LayerTurns::none && placed.rule.sample < 1)
    placed.refuse("sample",
                  fmt::format("layer '{}' cannot draw its outputs, since it takes turns", layer.name),
                  "turns: none, or sample: 1");
}

}  // namespace

void check_rules(const ShardedModel& model, const std::vector<LayerRule>& rules, int replicas) {
  require_matches(model.layers, rules);
  const bool is_table_shared =
      std::ranges::any_of(model.layers, [](const Layer& layer) { return layer.tied_elements > 0; });
  for (const Layer& layer : model.layers) {
    const LayerRule* rule = rule_for(layer.name, rules);
    if (rule == nullptr) continue;
    const PlacedRule placed{*rule, rules};
    require_divisible(layer, placed, is_table_shared);
    require_rows(layer, placed, replicas);
    if (has_tensor_parts(model, layer))
      placed.refuse("match", fmt::format("the ranks of a tensor group divide layer '{}' already", layer.name),
                    "tensor: 1, or match other layers");
  }
}

}  // namespace trainyard
