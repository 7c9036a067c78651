#pragma once
// An ONNX model as a model file with a list of layers (docs/models.md, "Write your own model").

#include "imports/onnx_graph.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

struct OnnxOptions {
  std::string name;  ///< of the model
  std::vector<std::int64_t> sample =
      {};  ///< sizes of a sample, for inputs whose sizes are dynamic; empty: the file's
};

struct OnnxModel {
  std::string yaml;
  double parameters = 0;             ///< values of the weights that are learnt
  double running_values = 0;         ///< of running means and variances, which are not
  int layers = 0;                    ///< entries of the list
  std::map<std::string, int> kinds;  ///< nodes that lead to the output by operator
  std::vector<std::string> notes;    ///< assumptions and omissions
  std::vector<std::string> warnings;
};

/// Infers the shape of every tensor and writes a layer for each node that computes. The batch is the first
/// size of the input, and is left out. Throws InputError with the node: an operator, or a form of it, that a
/// list of layers does not have; a weight of unknown shape, or one that does not fit or is shared; a dynamic
/// size; also if there are several inputs or outputs. Nodes that do not lead to the output are left out, with
/// a note.
OnnxModel onnx_layers(const OnnxGraph& graph, const OnnxOptions& options);

}  // namespace trainyard
