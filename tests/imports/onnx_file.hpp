#pragma once
// ONNX models, made node by node.

#include "imports/wire_bytes.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::testing {

/// A whole number or a list of them, as an attribute.
inline std::string onnx_number(std::string_view name, std::int64_t value) {
  return wire_text(1, name) + wire_number(3, static_cast<std::uint64_t>(value)) + wire_number(20, 2);
}
inline std::string onnx_numbers(std::string_view name, std::initializer_list<std::int64_t> values) {
  std::string fields = wire_text(1, name);
  for (const std::int64_t value : values) fields += wire_number(8, static_cast<std::uint64_t>(value));
  return fields + wire_number(20, 7);
}

/// A tensor of float as an attribute, without its values.
inline std::string onnx_tensor(std::string_view name, std::initializer_list<std::int64_t> sizes) {
  std::string tensor;
  for (const std::int64_t size : sizes) tensor += wire_number(1, static_cast<std::uint64_t>(size));
  return wire_text(1, name) + wire_text(5, tensor + wire_number(2, 1)) + wire_number(20, 4);
}

class OnnxFile {
public:
  /// Sizes below 1 are dynamic.
  OnnxFile& input(std::string_view name, std::initializer_list<std::int64_t> sizes) {
    std::string shape;
    for (const std::int64_t size : sizes)
      shape += wire_text(1, size < 1 ? wire_text(2, "N") : wire_number(1, static_cast<std::uint64_t>(size)));
    graph_ += wire_text(
        11, wire_text(1, name) + wire_text(2, wire_text(1, wire_number(1, 1) + wire_text(2, shape))));
    return *this;
  }
  OnnxFile& output(std::string_view name) {
    graph_ += wire_text(12, wire_text(1, name));
    return *this;
  }
  /// A weight whose values lie in another file.
  OnnxFile& weight(const std::string& name, const std::vector<std::int64_t>& sizes) {
    std::string tensor;
    for (const std::int64_t size : sizes) tensor += wire_number(1, static_cast<std::uint64_t>(size));
    graph_ += wire_text(5, tensor + wire_number(2, 1) + wire_text(8, name) + wire_number(14, 1));
    return *this;
  }
  /// A small tensor of int64.
  OnnxFile& values(const std::string& name, const std::vector<std::int64_t>& values) {
    std::string tensor = wire_number(1, values.size()) + wire_number(2, 7) + wire_text(8, name);
    for (const std::int64_t value : values) tensor += wire_number(7, static_cast<std::uint64_t>(value));
    graph_ += wire_text(5, tensor);
    return *this;
  }
  OnnxFile& node(std::string_view kind, const std::vector<std::string>& inputs, const std::string& output,
                 std::initializer_list<std::string> attributes = {}) {
    std::string fields;
    for (const std::string& one : inputs) fields += wire_text(1, one);
    fields += wire_text(2, output) + wire_text(3, "node_" + output) + wire_text(4, kind);
    for (const std::string& one : attributes) fields += wire_text(5, one);
    graph_ += wire_text(1, fields);
    return *this;
  }
  [[nodiscard]] std::string bytes() const {
    return wire_number(1, 8) + wire_text(2, "test") + wire_text(7, graph_) + wire_text(8, wire_number(2, 17));
  }

private:
  std::string graph_;
};

/// Three layers on images of any batch: a convolution with a bias, ReLU, the mean and a product.
inline OnnxFile small_onnx() {
  OnnxFile file;
  file.input("x", {0, 3, 32, 32}).output("y");
  file.weight("w", {8, 3, 3, 3}).weight("b", {8}).weight("fc", {10, 8}).weight("fb", {10});
  file.node("Conv", {"x", "w", "b"}, "c",
            {onnx_numbers("pads", {1, 1, 1, 1}), onnx_numbers("strides", {2, 2})});
  file.node("Relu", {"c"}, "r").node("GlobalAveragePool", {"r"}, "p").node("Flatten", {"p"}, "f");
  file.node("Gemm", {"f", "fc", "fb"}, "y", {onnx_number("transB", 1)});
  return file;
}

}  // namespace trainyard::testing
