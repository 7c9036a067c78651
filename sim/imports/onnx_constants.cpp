#include "imports/onnx_constants.hpp"

#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <ranges>
#include <utility>

namespace trainyard {
namespace {

constexpr std::int64_t the_batch = std::numeric_limits<std::int64_t>::min();  // among the sizes of a shape

OnnxTensor list_of(OnnxSizes values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {.dims = {count}, .values = std::move(values)};
}

OnnxTensor constant_of(const OnnxNode& node) {
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.tensor) return *attribute.tensor;
    if (attribute.number) return list_of({*attribute.number});
    if (!attribute.numbers.empty()) return list_of(attribute.numbers);
  }
  return {};
}

OnnxSizes transposed(const OnnxNodeAtHand& at, const OnnxSizes& dims) {
  OnnxSizes order = at.numbers("perm", {});
  if (order.empty()) return {dims.rbegin(), dims.rend()};
  OnnxSizes result;
  for (const std::int64_t place : order) {
    if (order.size() != dims.size() || place < 0 || place >= std::ssize(dims))
      at.refuse("its order does not fit the weight");
    result.push_back(dims[static_cast<std::size_t>(place)]);
  }
  return result;
}

OnnxSizes reshaped(const OnnxNodeAtHand& at, const OnnxSizes& dims, OnnxSizes to) {
  fill_open_size(to, dims);
  if (product(to) != product(dims)) at.refuse("its shape does not fit the weight");
  return to;
}

}  // namespace

OnnxConstants::OnnxConstants(const OnnxGraph& graph) {
  for (const auto& [name, tensor] : graph.weights) known_[name] = {tensor, name};
}

const OnnxSizes* OnnxConstants::shape_of(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second.tensor.dims;
}

const OnnxSizes* OnnxConstants::values_of(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() || !found->second.tensor.values ? nullptr : &*found->second.tensor.values;
}

const std::string& OnnxConstants::origin_of(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? name : found->second.origin;
}

bool OnnxConstants::fold(const OnnxNodeAtHand& at, const OnnxSizes* layer) {
  std::string origin = at.output();
  std::optional<OnnxTensor> made = made_without_operands(at, layer);
  if (const OnnxSizes* const dims = made ? nullptr : shape_of(at.operand(0)); dims != nullptr) {
    if (const OnnxSizes* const values = values_of(at.operand(0)); values != nullptr) {
      made = made_of_values(at, *values);
    } else if (auto sizes = moved(at, *dims)) {
      made = OnnxTensor{.dims = std::move(*sizes)};
    }
    if (at.kind() != "Gather" && at.kind() != "Concat") origin = origin_of(at.operand(0));
  }
  if (!made) return false;
  known_[at.output()] = {std::move(*made), std::move(origin)};
  return true;
}

std::optional<OnnxTensor> OnnxConstants::made_without_operands(const OnnxNodeAtHand& at,
                                                               const OnnxSizes* layer) const {
  if (at.kind() == "Constant") return constant_of(at.node());
  if (at.kind() == "ConstantOfShape") {
    const OnnxSizes* const made = values_of(at.operand(0));
    if (made == nullptr) at.refuse("its shape is unknown");
    constexpr std::int64_t largest_made = 1'000'000'000'000;
    if (std::ranges::any_of(*made, [](std::int64_t size) { return size < 0; }) ||
        product(*made) > largest_made)
      at.refuse("its shape is impossible");
    return OnnxTensor{.dims = *made};
  }
  if (at.kind() != "Shape") return std::nullopt;
  if (layer == nullptr) {
    const OnnxSizes* const weight = shape_of(at.operand(0));
    if (weight == nullptr) at.refuse(fmt::format("input 0 is no weight: {}", shown(at.operand(0))));
    return list_of(*weight);
  }
  OnnxSizes all{the_batch};
  all.insert(all.end(), layer->begin(), layer->end());
  return list_of(std::move(all));
}

/// Parts of shapes and axes; as lists, whatever their shape.
std::optional<OnnxTensor> OnnxConstants::made_of_values(const OnnxNodeAtHand& at,
                                                        const OnnxSizes& values) const {
  const std::string& kind = at.kind();
  if (kind == "Unsqueeze" || kind == "Squeeze" || kind == "Cast" || kind == "Identity")
    return list_of(values);
  if (kind == "Gather") {
    const OnnxSizes* const index = values_of(at.operand(1));
    if (index == nullptr || index->size() != 1) at.refuse("its index is unknown");
    const std::int64_t place = index->front() + (index->front() < 0 ? std::ssize(values) : 0);
    if (place < 0 || place >= std::ssize(values)) at.refuse("its index is outside of the shape");
    return list_of({values[static_cast<std::size_t>(place)]});
  }
  if (kind != "Concat") return std::nullopt;
  OnnxSizes all;
  for (const std::string& input : at.node().inputs) {
    const OnnxSizes* const part = values_of(input);
    if (part == nullptr) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return list_of(std::move(all));
}

/// The axes of a node, ascending from 0 on: an attribute, or an input since version 13. Nothing if they are
/// computed or left out. The tensor has this number of `sizes`, for Unsqueeze besides the axes.
std::optional<OnnxSizes> OnnxConstants::axes_of(const OnnxNodeAtHand& at, std::size_t sizes) const {
  const OnnxSizes* const given = values_of(at.operand(1));
  OnnxSizes axes = at.numbers("axes", given == nullptr ? OnnxSizes() : *given);
  if (axes.empty()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes + (at.kind() == "Unsqueeze" ? axes.size() : 0));
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  if (axes.front() < 0 || axes.back() >= rank || std::ranges::adjacent_find(axes) != axes.end())
    at.refuse("its axes do not fit the weight");
  return axes;
}

/// The shape of a weight with its sizes in another order or grouping.
std::optional<OnnxSizes> OnnxConstants::moved(const OnnxNodeAtHand& at, OnnxSizes dims) const {
  const std::string& kind = at.kind();
  if (kind == "Identity" || kind == "Cast" || kind == "Dropout") return dims;
  if (kind == "Transpose") return transposed(at, dims);
  if (kind == "Reshape") {
    const OnnxSizes* const target = values_of(at.operand(1));
    return target == nullptr ? std::nullopt : std::optional(reshaped(at, dims, *target));
  }
  if (kind != "Unsqueeze" && kind != "Squeeze") return std::nullopt;
  const auto axes = axes_of(at, dims.size());
  if (!axes) {
    if (kind == "Unsqueeze" || at.has_operand(1)) return std::nullopt;
    std::erase(dims, 1);
    return dims;
  }
  if (kind == "Unsqueeze") {
    for (const std::int64_t axis : *axes) dims.insert(dims.begin() + axis, 1);
    return dims;
  }
  for (const std::int64_t axis : *axes | std::views::reverse) {
    if (dims[static_cast<std::size_t>(axis)] != 1) at.refuse("its axes do not fit the weight");
    dims.erase(dims.begin() + axis);
  }
  return dims;
}

}  // namespace trainyard
