#pragma once
// What is known of an ONNX graph without its input: shapes of weights, and the values of small tensors, which
// are shapes and axes that other nodes compute with.

#include "imports/onnx_node.hpp"

#include <map>
#include <string>

namespace trainyard {

class OnnxConstants {
public:
  explicit OnnxConstants(const OnnxGraph& graph);

  /// Takes the outputs of a node that computes with constants alone, or with the shape of a layer's output:
  /// `shape`, without the batch, if its first operand is one, else null. False if it does not. Throws
  /// InputError for a shape that cannot be.
  bool fold(const OnnxNodeAtHand& at, const OnnxSizes* shape);

  /// The shape of a weight, or the values of a constant; null if the name is of none.
  [[nodiscard]] const OnnxSizes* shape_of(const std::string& name) const;
  [[nodiscard]] const OnnxSizes* values_of(const std::string& name) const;

  /// The weight that one was made of: a matrix and its transpose are one.
  [[nodiscard]] const std::string& origin_of(const std::string& name) const;

private:
  void add_tensor(const std::string& name, const OnnxTensor& tensor);
  bool fold_weight(const OnnxNodeAtHand& at);
  [[nodiscard]] OnnxSizes axes_of(const OnnxNodeAtHand& at) const;

  std::map<std::string, OnnxSizes> shapes_, values_;
  std::map<std::string, std::string> origins_;  ///< of weights made of others
};

}  // namespace trainyard
