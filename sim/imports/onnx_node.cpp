#include "imports/onnx_node.hpp"

#include "interchange/input_text.hpp"

#include <algorithm>
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

void fill_open_size(OnnxSizes& to, const OnnxSizes& from) {
  const auto open = std::ranges::find(to, -1);
  if (open == to.end()) return;
  *open = 1;
  const std::int64_t rest = product(to);
  *open = rest > 0 ? product(from) / rest : 0;
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

std::pair<OnnxWindowSide, OnnxWindowSide> OnnxNodeAtHand::window(const OnnxSizes& map,
                                                                 const OnnxSizes& kernel) const {
  const OnnxSizes strides = numbers("strides", {1, 1});
  const OnnxSizes pads = numbers("pads", {0, 0, 0, 0});
  if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4)
    refuse("its window is not two-dimensional");
  if (std::ranges::any_of(numbers("dilations", {1, 1}), [](auto one) { return one != 1; }))
    refuse("it is dilated", "a list of layers has no dilated windows");
  if (strides[0] != strides[1]) refuse("its strides differ by direction");
  OnnxWindowSide height{map[1], kernel[0], strides[0], pads[0], pads[2]};
  OnnxWindowSide width{map[2], kernel[1], strides[1], pads[1], pads[3]};
  pad(height);
  pad(width);
  return {height, width};
}

void OnnxNodeAtHand::pad(OnnxWindowSide& side) const {
  constexpr std::int64_t most = 65'536;
  if (std::min(side.kernel, side.stride) < 1 || std::min(side.before, side.after) < 0 ||
      std::max({side.kernel, side.stride, side.before, side.after}) > most)
    refuse("its window is impossible");
  const auto automatic = node_->attributes.find("auto_pad");
  const std::string rule = automatic == node_->attributes.end() ? "" : automatic->second.text;
  if (rule == "SAME_UPPER" || rule == "SAME_LOWER") {
    const std::int64_t out = (side.size + side.stride - 1) / side.stride;
    const std::int64_t both = std::max<std::int64_t>((out - 1) * side.stride + side.kernel - side.size, 0);
    side.before = both / 2;
    side.after = both - side.before;
  } else if (rule == "VALID") {
    side.before = side.after = 0;
  }
  if (side.size + side.before + side.after < side.kernel) refuse("its window is larger than the map");
}

void OnnxNodeAtHand::refuse(const std::string& problem, const std::string& hint) const {
  if (node_ == nullptr) throw input_error(graph_.file, 0, problem, hint);
  const std::string name = node_->outputs.empty() ? "" : node_->outputs.front();
  const std::string where =
      node_->name.empty() ? "the node of " + shown(name) : "the node " + shown(node_->name);
  throw input_error(graph_.file, 0, fmt::format("{} ({}): {}", shown(node_->kind), where, problem), hint);
}

}  // namespace trainyard
