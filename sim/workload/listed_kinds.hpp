#pragma once
// One function for each kind of layer that an entry of a list can have (layer_list.hpp): checks that the
// layer can read its input, adds it to the graph and returns its output. They are defined in five files:
// kinds of maps (listed_map_kinds.cpp), of tokens and tables (listed_token_kinds.cpp), of several inputs
// (listed_join_kinds.cpp), of image models since 2018 (listed_vision_kinds.cpp), and all others with the
// checks (listed_kinds.cpp).

#include "workload/layer_graph.hpp"
#include "workload/layer_list.hpp"
#include "workload/list_names.hpp"

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Values of a tensor per sample and weights that a value needs, at most; layers of a list.
inline constexpr double most_listed_values = std::numeric_limits<int>::max();
inline constexpr std::size_t most_listed_layers = 100'000;

inline bool is_map(const ListedValues& values) { return values.shape.size() == 3; }
inline bool is_tokens(const ListedValues& values) { return values.shape.size() == 2; }
inline FeatureMap map_of(const ListedValues& values) {
  return {values.shape[0], values.shape[1], values.shape[2]};
}
/// "[3, 224, 224]".
std::string shape_text(const std::vector<int>& shape);

/// Adds layers to `graph`; `names` resolves the names that entries mention. Both outlive it. Errors are
/// InputErrors for the key of begin().
class ListedKinds {
public:
  ListedKinds(LayerGraph& graph, const ListNames& names) : graph_(graph), names_(names) {}

  using Values = ListedValues;

  /// The next layer is that of the key at `path`. `is_normalised`: batch_norm follows it in its entry.
  void begin(std::string path, bool is_normalised);

  // Each adds the layer `name` (or several, NAME.PART) that reads `in`, and returns its output.
  Values append(const std::string& name, const ListedConv& conv, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedDepthwiseConv& conv, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedConvTranspose& conv, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedLocal& local, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedPool& pool, std::string_view kind, const Values& in);
  Values append(const std::string& name, const Extent& middle, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedLinear& linear, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedBatchNorm& norm, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedLayerNorm& norm, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedEmbedding& table, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedTables& tables, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedPositions& table, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedAttention& attention, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedLstm& lstm, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedWindowAttention& attention, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedHeads& heads, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedFactor& factor, std::string_view kind, const Values& in);
  Values append(const std::string& name, const ListedSlice& slice, std::string_view kind, const Values& in);
  /// These three name all their inputs.
  Values append(const std::string& name, const ListedAdditiveAttention& attention, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedCrossAttention& attention, std::string_view kind,
                const Values& in);
  Values append(const std::string& name, const ListedJoin& join, std::string_view kind, const Values& in);
  Values append(const std::string& name, const NoKeys& none, std::string_view kind, const Values& in);

  /// Throws InputError if a tensor of this shape is too large.
  void require_size(const std::vector<int>& shape) const;
  /// Throws InputError: the list has more than `most` of `what`.
  [[noreturn]] void refuse_length(std::size_t most, std::string_view what) const;
  /// Tokens of a sample, if an embedding read the input.
  [[nodiscard]] std::optional<int> sequence_length() const { return sequence_length_; }

private:
  struct Table {
    std::string layer;
    EmbeddingSize size;
  };

  /// Reports that a layer cannot read values of this shape.
  [[noreturn]] void refuse_shape(std::string_view kind, const Values& in, std::string_view expected,
                                 std::string hint) const;
  void require_map(std::string_view kind, const Values& in) const;
  void require_window(const Values& in, const Window& window) const;
  /// Weights that an output value (or an input value of a transposed convolution) needs.
  void require_weights(double weights) const;
  /// A loss ends a model, or a branch of it.
  void require_values(const Values& in) const;
  /// Makes a convolution use the weights of the one that `tied` names.
  void tie(Layer& conv, const std::string& tied) const;
  /// Tokens along the side of a square map.
  [[nodiscard]] int side_of(std::string_view kind, const Values& in) const;
  /// Requires that `tied` names an embedding with such a table; returns its layer's name.
  [[nodiscard]] const std::string& required_table(const std::string& tied, const EmbeddingSize& size) const;
  [[nodiscard]] bool has_bias(const std::optional<bool>& stated) const {
    return stated.value_or(!is_normalised_);
  }

  /// Adds a layer that reads `in`; returns its output.
  Values add(Layer layer, std::vector<int> shape, const std::vector<Values>& in);
  Values add_same(Layer layer, const Values& in);    ///< its output has the shape of its input
  Values add_shaped(Layer layer, const Values& in);  ///< its output has the layer's own shape

  Values add_attention(const std::string& name, const ListedAttention& attention, const Values& in);
  Values add_lstm(const std::string& name, int hidden, const Values& in);
  Values add_activation(const std::string& name, std::string_view kind, const Values& in);
  Values add_gate(const std::string& name, std::string_view kind, const Values& in);
  Values add_loss(const std::string& name, std::string_view kind, const Values& in);
  /// The layers of an attention whose queries are part of `queries`, its values of `values`.
  Values add_core(const std::vector<Layer>& core, const Values& queries, const Values& values);
  Values add_with_channels(const std::string& name, std::string_view kind, const ListedJoin& join,
                           const std::vector<Values>& in);
  Values add_interaction(const std::string& name, const ListedJoin& join, const std::vector<Values>& in);

  /// The values of a layer's list `inputs`.
  [[nodiscard]] std::vector<Values> named_inputs(const std::vector<std::string>& names) const;
  /// The channels, features or tokens of all inputs; all other dimensions must be equal.
  [[nodiscard]] std::vector<int> joined_shape(std::string_view kind, const ListedJoin& join,
                                              const std::vector<Values>& in) const;
  /// Reports that input `i` does not fit to the first.
  [[noreturn]] void refuse_join(const ListedJoin& join, const std::vector<Values>& in, std::size_t i,
                                std::string hint) const;

  LayerGraph& graph_;
  const ListNames& names_;
  std::optional<int> sequence_length_;
  std::map<int, Layer> convs_;       ///< that others may be tied to, by the tensor that they write
  double steps_ = 0;                 ///< of all recurrences
  std::map<int, Table> embeddings_;  ///< by the tensor that they write
  std::string path_ = "layers";      ///< of the key that is worked on, for errors
  bool is_normalised_ = false;       ///< whether batch_norm follows the layer in its entry
};

}  // namespace trainyard
