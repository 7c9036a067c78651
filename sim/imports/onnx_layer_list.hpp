#pragma once
// The list of layers that an ONNX model becomes: its entries so far, the tensors that they put out, the
// weights that they take, and its text.

#include "imports/onnx_constants.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace trainyard {

struct OnnxEntry {
  std::string kind, keys;           ///< "conv", "{out: 64, kernel: 7}"
  std::vector<std::size_t> inputs;  ///< entries that it reads
  bool is_join = false;             ///< it names its inputs itself
  std::string name = {};            ///< if other entries name it
};

/// The output of a layer, without the batch.
struct OnnxActivation {
  OnnxSizes shape = {};       ///< channels, height, width; tokens, features; features; or tokens of an input
  std::size_t entry = 0;      ///< of the list; 0: the input
  bool is_tokens = false;     ///< the input: indices of a table
  OnnxSizes map_before = {};  ///< the map whose channels are in groups, until they have their new order
};

class OnnxListBuilder {
public:
  /// Finds the nodes that lead to an output. The input of the model has the sizes of `sample` or, if that is
  /// empty, of the file. Throws InputError for several inputs, or sizes that are dynamic or do not fit.
  OnnxListBuilder(const OnnxGraph& graph, const OnnxSizes& sample);

  [[nodiscard]] bool is_activation(std::size_t i) const { return activations.contains(at.operand(i)); }

  /// The output of a layer that is an operand of the node at hand. Throws InputError if it is none.
  [[nodiscard]] const OnnxActivation& activation(std::size_t i) const;
  /// The first operand: channels, height and width.
  [[nodiscard]] const OnnxActivation& map() const;

  /// The shape of an operand that is a weight.
  [[nodiscard]] const OnnxSizes& shape_of_weight(std::size_t i) const;
  /// The shape of a weight that is learnt; counts its parameters. Throws InputError if another layer has it.
  const OnnxSizes& weight(std::size_t i);
  /// Counts the third operand, a bias for an output of this many features; false if there is none.
  bool take_bias(std::int64_t size);

  /// Adds a layer, whose output is that of the node at hand; add_same() one whose output has the shape of its
  /// input; pass_on() no layer.
  void add_entry(std::string kind, std::string keys, std::vector<std::size_t> inputs, OnnxSizes shape,
                 bool is_join = false);
  void add_same(const char* kind, std::string keys = {});
  void pass_on(OnnxSizes shape, std::size_t entry);

  /// Whether the node has the model's output, and no other node reads it.
  [[nodiscard]] bool is_last() const;

  /// Each note once.
  void note(std::string text);

  /// The model file; entries that others refer to get names.
  std::string text(const std::string& name);

  const OnnxGraph& graph;
  OnnxNodeAtHand at;
  OnnxConstants constants;
  std::vector<const OnnxNode*> nodes = {};  ///< in the order of the file
  std::map<std::string, int> uses = {};     ///< number of reads by name
  std::map<std::string, OnnxActivation> activations = {};
  std::vector<OnnxEntry> entries = {};  ///< the first is the input
  double parameters = 0;
  std::vector<std::string> notes = {};

private:
  void find_nodes();
  void add_input(OnnxSizes sample);
  [[noreturn]] void refuse_inputs() const;

  std::set<std::string> learnt_ = {};
};

}  // namespace trainyard
