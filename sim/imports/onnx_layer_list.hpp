#pragma once
// The list of layers that an ONNX model becomes, and its text.

#include "imports/onnx_graph.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct OnnxEntry {
  std::string kind, keys;           ///< "conv", "{out: 64, kernel: 7}"
  std::vector<std::size_t> inputs;  ///< entries that it reads
  bool is_join = false;             ///< it names its inputs itself
  std::string name = {};            ///< if others name it
};

/// The model file of these entries, of which the first is the input. Entries that others than the next one
/// read get a name.
std::string layer_list_text(const OnnxGraph& graph, const std::string& name, std::vector<OnnxEntry> entries);

}  // namespace trainyard
