#include "imports/onnx_constants.hpp"

#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <utility>

namespace trainyard {
namespace {

constexpr std::int64_t the_batch = std::numeric_limits<std::int64_t>::min();  // among the sizes of a shape

}  // namespace

OnnxConstants::OnnxConstants(const OnnxGraph& graph) {
  for (const auto& [name, tensor] : graph.weights) add_tensor(name, tensor);
}

void OnnxConstants::add_tensor(const std::string& name, const OnnxTensor& tensor) {
  shapes_[name] = tensor.dims;
  if (!tensor.values.empty() || tensor.elements() == 0) values_[name] = tensor.values;
}

const OnnxSizes* OnnxConstants::shape_of(const std::string& name) const {
  const auto found = shapes_.find(name);
  return found == shapes_.end() ? nullptr : &found->second;
}

const OnnxSizes* OnnxConstants::values_of(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const std::string& OnnxConstants::origin_of(const std::string& name) const {
  const auto found = origins_.find(name);
  return found == origins_.end() ? name : found->second;
}

bool OnnxConstants::fold(const OnnxNodeAtHand& at, const OnnxSizes* shape) {
  const OnnxNode& node = at.node();
  const std::string& out = at.output();
  const auto constant = [&](std::size_t i) { return values_of(at.operand(i)); };
  if (node.kind == "Constant") {
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.tensor) {
        add_tensor(out, *attribute.tensor);
      } else if (attribute.number || !attribute.numbers.empty()) {
        const OnnxSizes values = attribute.number ? OnnxSizes{*attribute.number} : attribute.numbers;
        values_[out] = values;
        shapes_[out] = {static_cast<std::int64_t>(values.size())};
      } else if (attribute.real) {
        shapes_[out] = {};
      }
    }
    return true;
  }
  if (node.kind == "ConstantOfShape") {
    const OnnxSizes* const made = constant(0);
    if (made == nullptr) at.refuse("its shape is unknown");
    constexpr std::int64_t largest_made = 1'000'000'000'000;
    if (std::ranges::any_of(*made, [](std::int64_t size) { return size < 0; }) ||
        product(*made) > largest_made)
      at.refuse("its shape is impossible");
    shapes_[out] = *made;
    return true;
  }
  if (node.kind == "Shape") {
    if (shape == nullptr) {
      const OnnxSizes* const weight = shape_of(at.operand(0));
      if (weight == nullptr) at.refuse(fmt::format("input 0 is no weight: {}", shown(at.operand(0))));
      values_[out] = OnnxSizes(*weight);
    } else {
      OnnxSizes all{the_batch};
      all.insert(all.end(), shape->begin(), shape->end());
      values_[out] = std::move(all);
    }
    return true;
  }
  const OnnxSizes* const values = constant(0);
  if (values == nullptr) return fold_weight(at);
  if (node.kind == "Gather") {
    const OnnxSizes* const index = constant(1);
    if (index == nullptr || index->size() != 1) at.refuse("its index is unknown");
    const std::int64_t place =
        index->front() + (index->front() < 0 ? static_cast<std::int64_t>(values->size()) : 0);
    if (place < 0 || place >= static_cast<std::int64_t>(values->size()))
      at.refuse("its index is outside of the shape");
    values_[out] = {(*values)[static_cast<std::size_t>(place)]};
    return true;
  }
  if (node.kind == "Unsqueeze" || node.kind == "Squeeze" || node.kind == "Cast" || node.kind == "Identity") {
    const OnnxSizes copy = *values;
    values_[out] = copy;
    shapes_[out] = {static_cast<std::int64_t>(copy.size())};
    origins_[out] = origin_of(at.operand(0));
    return true;
  }
  if (node.kind == "Concat") {
    OnnxSizes all;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const OnnxSizes* const part = constant(i);
      if (part == nullptr) return false;
      all.insert(all.end(), part->begin(), part->end());
    }
    values_[out] = all;
    return true;
  }
  return false;
}

/// The axes of a node: an attribute, or an input since version 13.
OnnxSizes OnnxConstants::axes_of(const OnnxNodeAtHand& at) const {
  const OnnxSizes* const given = values_of(at.operand(1));
  return at.numbers("axes", given == nullptr ? OnnxSizes() : *given);
}

/// A weight with its sizes in another order, or under another name.
bool OnnxConstants::fold_weight(const OnnxNodeAtHand& at) {
  const OnnxNode& node = at.node();
  const std::string& out = at.output();
  const auto found = shapes_.find(at.operand(0));
  if (found == shapes_.end()) return false;
  OnnxSizes shape = found->second;
  if (node.kind == "Transpose") {
    OnnxSizes order = at.numbers("perm", {});
    if (order.empty()) {
      std::ranges::reverse(shape);
    } else {
      if (order.size() != shape.size()) at.refuse("its order does not fit the weight");
      OnnxSizes moved;
      for (const std::int64_t place : order) {
        if (place < 0 || place >= static_cast<std::int64_t>(shape.size()))
          at.refuse("its order does not fit the weight");
        moved.push_back(shape[static_cast<std::size_t>(place)]);
      }
      shape = std::move(moved);
    }
  } else if (node.kind == "Reshape") {
    const auto target = values_.find(at.operand(1));
    if (target == values_.end()) return false;
    OnnxSizes to = target->second;
    const auto open = std::ranges::find(to, -1);
    if (open != to.end()) {
      *open = 1;
      const std::int64_t rest = product(to);
      if (rest < 1) at.refuse("its shape does not fit the weight");
      *open = product(shape) / rest;
    }
    if (product(to) != product(shape)) at.refuse("its shape does not fit the weight");
    shape = std::move(to);
  } else if (node.kind == "Unsqueeze") {
    OnnxSizes axes = axes_of(at);
    if (axes.empty()) return false;
    const auto rank = static_cast<std::int64_t>(shape.size() + axes.size());
    for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::ranges::sort(axes);
    for (const std::int64_t axis : axes) {
      if (axis < 0 || axis > static_cast<std::int64_t>(shape.size()))
        at.refuse("its axes do not fit the weight");
      shape.insert(shape.begin() + axis, 1);
    }
  } else if (node.kind == "Squeeze") {
    OnnxSizes axes = axes_of(at);
    if (axes.empty()) {
      if (at.has_operand(1)) return false;  // computed
      std::erase(shape, 1);
    }
    const auto rank = static_cast<std::int64_t>(shape.size());
    for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::ranges::sort(axes, std::greater<>());
    for (const std::int64_t axis : axes) {
      if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()) ||
          shape[static_cast<std::size_t>(axis)] != 1)
        at.refuse("its axes do not fit the weight");
      shape.erase(shape.begin() + axis);
    }
  } else if (node.kind != "Identity" && node.kind != "Cast" && node.kind != "Dropout") {
    return false;
  }
  shapes_[out] = std::move(shape);
  origins_[out] = origin_of(at.operand(0));
  return true;
}

}  // namespace trainyard
