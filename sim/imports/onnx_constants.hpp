#pragma once
// The tensors of an ONNX graph that do not depend on its input: shapes of weights, and the values of small
// tensors, which are shapes and axes that other nodes compute with.

#include "imports/onnx_node.hpp"

#include <map>
#include <optional>
#include <string>

namespace trainyard {

class OnnxConstants {
public:
  explicit OnnxConstants(const OnnxGraph& graph);

  /// Takes the output of a node that computes with constants alone, or with the shape of a layer's output:
  /// `layer`, without the batch, if its first operand is one, else null. False for other nodes. Throws
  /// InputError for an impossible shape.
  bool fold(const OnnxNodeAtHand& at, const OnnxSizes* layer);

  /// The shape of a weight, or the values of a constant; null if there is none of this name.
  [[nodiscard]] const OnnxSizes* shape_of(const std::string& name) const;
  [[nodiscard]] const OnnxSizes* values_of(const std::string& name) const;

  /// The weight from which this one is made: a matrix and its transpose are one.
  [[nodiscard]] const std::string& origin_of(const std::string& name) const;

private:
  struct Known {
    OnnxTensor tensor;
    std::string origin;  ///< the weight from which it is made
  };

  [[nodiscard]] std::optional<OnnxTensor> made_without_operands(const OnnxNodeAtHand& at,
                                                                const OnnxSizes* layer) const;
  [[nodiscard]] std::optional<OnnxTensor> made_of_values(const OnnxNodeAtHand& at,
                                                         const OnnxSizes& values) const;
  [[nodiscard]] std::optional<OnnxSizes> moved(const OnnxNodeAtHand& at, OnnxSizes dims) const;
  [[nodiscard]] std::optional<OnnxSizes> axes_of(const OnnxNodeAtHand& at, std::size_t sizes) const;

  std::map<std::string, Known> known_;
};

}  // namespace trainyard
