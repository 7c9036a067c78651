#include "imports/onnx_node.hpp"

#include "interchange/input_text.hpp"

#include <fmt/format.h>
#include <limits>

namespace trainyard {

std::int64_t product(const OnnxSizes& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(result, size, &result)) return std::numeric_limits<std::int64_t>::max();
  }
  return result;
}

const std::string& OnnxNodeAtHand::operand(std::size_t i) const {
  static const std::string none;
  return i < node_->inputs.size() ? node_->inputs[i] : none;
}

std::int64_t OnnxNodeAtHand::number(const char* name, std::int64_t otherwise) const {
  const auto found = node_->attributes.find(name);
  return found == node_->attributes.end() ? otherwise : found->second.number.value_or(otherwise);
}

OnnxSizes OnnxNodeAtHand::numbers(const char* name, const OnnxSizes& otherwise) const {
  const auto found = node_->attributes.find(name);
  const bool is_given = found != node_->attributes.end() && !found->second.numbers.empty();
  return is_given ? found->second.numbers : otherwise;
}

std::string OnnxNodeAtHand::attribute_text(const char* name) const {
  const auto found = node_->attributes.find(name);
  return found == node_->attributes.end() ? std::string() : found->second.text;
}

void OnnxNodeAtHand::refuse(const std::string& what, const std::string& hint) const {
  if (node_ == nullptr) throw input_error(graph_.file, 0, what, hint);
  const std::string where =
      node_->name.empty()
          ? fmt::format("the node of {}", shown(node_->outputs.empty() ? "" : node_->outputs[0]))
          : "the node " + shown(node_->name);
  throw input_error(graph_.file, 0, fmt::format("{} ({}): {}", shown(node_->kind), where, what), hint);
}

}  // namespace trainyard
