#pragma once
// A node of an ONNX graph at hand: its operands, attributes and window, and the errors that name it.

#include "imports/onnx_graph.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// The largest number where the product is larger.
std::int64_t product(const OnnxSizes& sizes);

/// Replaces a size -1 of a new shape by the size that keeps the number of elements, or 0.
void fill_open_size(OnnxSizes& to, const OnnxSizes& from);

/// A window of a convolution or pooling in one direction, in values.
struct OnnxWindowSide {
  std::int64_t size = 0, kernel = 0, stride = 1, before = 0, after = 0;
  /// Size of the output with this padding, both sides added.
  [[nodiscard]] std::int64_t out(std::int64_t padding, bool rounds_up = false) const {
    return (size + padding - kernel + (rounds_up ? stride - 1 : 0)) / stride + 1;
  }
};

class OnnxNodeAtHand {
public:
  explicit OnnxNodeAtHand(const OnnxGraph& graph) : graph_(graph) {}

  /// Null: errors concern the whole model.
  void take(const OnnxNode* node) { node_ = node; }
  [[nodiscard]] const OnnxNode& node() const { return *node_; }
  [[nodiscard]] const std::string& kind() const { return node_->kind; }
  [[nodiscard]] const std::string& output() const { return node_->outputs.front(); }

  /// The name of an input; "" if the node has fewer.
  [[nodiscard]] const std::string& operand(std::size_t i) const;
  [[nodiscard]] bool has_operand(std::size_t i) const { return !operand(i).empty(); }

  /// Attributes, or the default for those that the node does not have.
  [[nodiscard]] std::int64_t number(const char* name, std::int64_t otherwise) const;
  [[nodiscard]] OnnxSizes numbers(const char* name, const OnnxSizes& otherwise) const;

  /// Height and width of the window over a map of channels, height and width, with the padding of the node or
  /// of auto_pad. Throws InputError for windows that are not two-dimensional, are dilated, have unequal
  /// strides, or are larger than the map.
  [[nodiscard]] std::pair<OnnxWindowSide, OnnxWindowSide> window(const OnnxSizes& map,
                                                                 const OnnxSizes& kernel) const;

  /// Throws InputError that names the node.
  [[noreturn]] void refuse(const std::string& problem, const std::string& hint = {}) const;

private:
  void pad(OnnxWindowSide& side) const;

  const OnnxGraph& graph_;
  const OnnxNode* node_ = nullptr;
};

}  // namespace trainyard
