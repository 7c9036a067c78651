#pragma once
// A rule of an experiment that divides layers among the replicas of a model (strategy/layer_division.hpp).

#include "config/keys.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The dimension of a layer's parameters that is divided.
enum class LayerSplit { columns, rows, hash, space };

/// The samples on which divided layers work at a time: schemes a, b and c of Krizhevsky 2014, One weird trick
/// for parallelizing convolutional neural networks, arXiv 1404.5997, section 4.
enum class LayerTurns { none, by_replica, by_slice };

struct LayerRule {
  std::string match;  ///< names of layers, with * and ? as in file names
  LayerSplit split = LayerSplit::columns;
  LayerTurns turns = LayerTurns::none;
  double sample = 1;  ///< share of a rank's outputs that it computes, drawn for each micro-batch
  friend bool operator==(const LayerRule&, const LayerRule&) = default;
};

/// Whether the rule is for layers of this name.
bool is_matched(const LayerRule& rule, const std::string& layer);

/// The key of a rule among `rules` within the block `parallelism`, for errors: "layers[1].turns".
std::string key_of(const LayerRule& rule, const std::vector<LayerRule>& rules, std::string_view key);

/// The first rule for layers of this name; nullptr if there is none.
const LayerRule* rule_for(const std::string& layer, const std::vector<LayerRule>& rules);

namespace config {

template <>
struct Names<LayerSplit> {
  static constexpr std::string_view what = "division of a layer";
  static constexpr std::array table{
      Name{"columns", LayerSplit::columns, "outputs of a linear layer; features or tables of an embedding"},
      Name{"rows", LayerSplit::rows, "rows of an embedding"},
      Name{"hash", LayerSplit::hash,
           "keys of an embedding, of which each rank has a hash table with as many rows as the layer"},
      Name{"space", LayerSplit::space,
           "height and width of the maps of a convolution or locally connected layer"}};
};

template <>
struct Names<LayerTurns> {
  static constexpr std::string_view what = "turns of model-parallel layers";
  static constexpr std::array table{
      Name{"none", LayerTurns::none, "the samples of all replicas at once"},
      Name{"by_replica", LayerTurns::by_replica, "those of one replica after the other"},
      Name{"by_slice", LayerTurns::by_slice, "one slice of every replica's samples after the other"}};
};

template <>
struct Keys<LayerRule> {
  static auto table() {
    return keys(
        required("match", &LayerRule::match, "names of layers; * and ? stand for other characters"),
        optional("split", &LayerRule::split, "what is divided"),
        optional("turns", &LayerRule::turns,
                 "samples on which linear layers work at a time, forward and backward; schemes of Krizhevsky "
                 "2014, "
                 "arXiv 1404.5997, section 4: none is a, by_replica b, by_slice c"),
        optional(
            "sample", &LayerRule::sample,
            "share of a rank's outputs that it computes, drawn for each micro-batch; only in the last linear "
            "layer (PartialFC_V2 of InsightFace)")
            .above(0)
            .at_most(1));
  }
};

}  // namespace config
}  // namespace trainyard
