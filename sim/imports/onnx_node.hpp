#pragma once
// A node of an ONNX graph at hand: its operands and attributes, and the errors that name it.

#include "imports/onnx_graph.hpp"

#include <string>
#include <vector>

namespace trainyard {

using OnnxSizes = std::vector<std::int64_t>;

/// The largest number where the product is larger.
std::int64_t product(const OnnxSizes& sizes);

class OnnxNodeAtHand {
public:
  explicit OnnxNodeAtHand(const OnnxGraph& graph) : graph_(graph) {}

  /// Null: errors are of the whole model.
  void take(const OnnxNode* node) { node_ = node; }
  [[nodiscard]] const OnnxNode& node() const { return *node_; }
  [[nodiscard]] const std::string& kind() const { return node_->kind; }
  [[nodiscard]] const std::string& output() const { return node_->outputs.front(); }

  /// The name of an input; "" if the node has fewer.
  [[nodiscard]] const std::string& operand(std::size_t i) const;
  [[nodiscard]] bool has_operand(std::size_t i) const { return !operand(i).empty(); }

  /// Attributes, or what holds where the node does not give them.
  [[nodiscard]] std::int64_t number(const char* name, std::int64_t otherwise) const;
  [[nodiscard]] OnnxSizes numbers(const char* name, const OnnxSizes& otherwise) const;
  [[nodiscard]] std::string attribute_text(const char* name) const;

  /// Throws InputError that names the node.
  [[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) const;

private:
  const OnnxGraph& graph_;
  const OnnxNode* node_ = nullptr;
};

}  // namespace trainyard
