#pragma once
// A rule of an experiment that divides layers among the replicas of a model (strategy/layer_division.hpp).

#include "config/keys.hpp"

#include <array>
#include <string>
#include <string_view>

namespace trainyard {

/// The dimension of a layer's parameters that is divided.
enum class LayerSplit { columns, rows };

struct LayerRule {
  std::string match;  ///< names of layers, with * and ? as in file names
  LayerSplit split = LayerSplit::columns;
  friend bool operator==(const LayerRule&, const LayerRule&) = default;
};

namespace config {

template <>
struct Names<LayerSplit> {
  static constexpr std::string_view what = "division of a layer";
  static constexpr std::array table{
      Name{"columns", LayerSplit::columns, "outputs of a linear layer; features or tables of an embedding"},
      Name{"rows", LayerSplit::rows, "rows of an embedding"}};
};

template <>
struct Keys<LayerRule> {
  static auto table() {
    return keys(required("match", &LayerRule::match, "names of layers; * and ? stand for other characters"),
                optional("split", &LayerRule::split, "what is divided"));
  }
};

}  // namespace config
}  // namespace trainyard
