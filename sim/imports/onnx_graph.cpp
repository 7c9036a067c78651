#include "imports/onnx_graph.hpp"

#include "config/read_file.hpp"
#include "imports/wire_format.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t largest_onnx = std::size_t{4} << 30U;
constexpr std::size_t most_values = 4096;  // of a tensor that keeps its values
constexpr double most_elements = 1e12;
constexpr std::size_t most_dims = 64;  // of a tensor

// Numbers of fields, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
constexpr std::uint32_t model_graph = 7, model_operators = 8;
constexpr std::uint32_t operators_domain = 1, operators_version = 2;
constexpr std::uint32_t graph_node = 1, graph_weight = 5, graph_input = 11, graph_output = 12;
constexpr std::uint32_t node_input = 1, node_output = 2, node_name = 3, node_kind = 4, node_attribute = 5,
                        node_domain = 7;
constexpr std::uint32_t attribute_name = 1, attribute_number = 3, attribute_text = 4, attribute_tensor = 5,
                        attribute_numbers = 8;
constexpr std::uint32_t tensor_dims = 1, tensor_type = 2, tensor_ints = 5, tensor_longs = 7, tensor_name = 8,
                        tensor_raw = 9;
constexpr std::uint32_t value_name = 1, value_type = 2, type_tensor = 1, tensor_shape = 2;
constexpr std::uint32_t dim_size = 1, dim_symbol = 2;

double elements(const OnnxTensor& tensor) {
  double count = 1;
  for (const std::int64_t size : tensor.dims) count *= static_cast<double>(size);
  return count;
}

/// The values of int32 and int64 tensors, which are little-endian in `raw`.
OnnxSizes values_in(std::string_view raw, std::size_t count, std::size_t size) {
  OnnxSizes values;
  raw = raw.substr(0, count * size);
  for (std::size_t at = 0; at + size <= raw.size(); at += size) {
    std::int64_t value = 0;
    std::int32_t half = 0;
    std::memcpy(size == sizeof value ? static_cast<void*>(&value) : &half, raw.data() + at, size);
    values.push_back(size == sizeof value ? value : half);
  }
  return values;
}

class OnnxReader {
public:
  explicit OnnxReader(std::string file) { graph_.file = std::move(file); }

  OnnxGraph read(std::string_view bytes) {
    bytes_ = bytes;
    for_each(bytes, [&](const WireField& value) {
      if (value.field == model_operators) read_operators(text(value));
    });
    const std::string_view body = part(bytes, model_graph);
    if (body.empty()) refuse("no ONNX model: it has no graph");
    for_each(body, [&](const WireField& value) {
      if (value.field == graph_node) graph_.nodes.push_back(node(text(value)));
      if (value.field == graph_weight)
        graph_.weights.insert_or_assign(named(text(value)), tensor(value.text));
      if (value.field == graph_input) graph_.inputs.push_back(input(text(value)));
      if (value.field == graph_output) graph_.outputs.push_back(input(text(value)).name);
    });
    // Before version 4 of the format weights were inputs, too.
    std::erase_if(graph_.inputs, [&](const OnnxInput& one) { return graph_.weights.contains(one.name); });
    return std::move(graph_);
  }

private:
  [[noreturn]] void refuse(const std::string& message) const { throw input_error(graph_.file, 0, message); }

  [[noreturn]] void refuse_at(std::string_view message, std::size_t at) const {
    const auto byte = static_cast<std::size_t>(message.data() - bytes_.data()) + at;
    throw input_error(graph_.file, 0, fmt::format("damaged or cut off at byte {}", byte),
                      "an ONNX model is expected: torch.onnx.export writes one");
  }

  /// Calls `use` with each field of a message.
  template <class Use>
  void for_each(std::string_view message, const Use& use) const {
    WireReader reader(message);
    while (!reader.at_end()) {
      const std::size_t at = reader.position();
      const auto value = reader.field();
      if (!value) refuse_at(message, at);
      use(*value);
    }
  }

  [[nodiscard]] std::string_view text(const WireField& value) const {
    if (value.type != WireType::bytes) refuse("no ONNX model: a field is of another type");
    return value.text;
  }

  /// The text or message in a field; the last one, or empty.
  [[nodiscard]] std::string_view part(std::string_view message, std::uint32_t field) const {
    std::string_view found;
    for_each(message, [&](const WireField& value) {
      if (value.field == field) found = text(value);
    });
    return found;
  }
  [[nodiscard]] std::string named(std::string_view tensor) const {
    return std::string(part(tensor, tensor_name));
  }

  void read_operators(std::string_view message) {
    const std::string_view domain = part(message, operators_domain);
    for_each(message, [&](const WireField& value) {
      if (value.field == operators_version && (domain.empty() || domain == "ai.onnx"))
        graph_.operators = static_cast<std::int64_t>(value.number);
    });
  }

  [[nodiscard]] OnnxNode node(std::string_view message) const {
    OnnxNode node;
    for_each(message, [&](const WireField& value) {
      if (value.field == node_input) node.inputs.emplace_back(text(value));
      if (value.field == node_output) node.outputs.emplace_back(text(value));
      if (value.field == node_name) node.name = text(value);
      if (value.field == node_kind) node.kind = text(value);
      if (value.field == node_domain) node.domain = text(value);
      if (value.field == node_attribute)
        node.attributes.insert_or_assign(std::string(part(text(value), attribute_name)),
                                         attribute(value.text));
    });
    return node;
  }

  [[nodiscard]] OnnxAttribute attribute(std::string_view message) const {
    OnnxAttribute attribute;
    for_each(message, [&](const WireField& value) {
      if (value.field == attribute_number) attribute.number = static_cast<std::int64_t>(value.number);
      if (value.field == attribute_text) attribute.text = text(value);
      if (value.field == attribute_tensor) attribute.tensor = tensor(text(value));
      if (value.field == attribute_numbers && !append(message, value, attribute.numbers, most_values))
        refuse(fmt::format("an attribute has more than {} numbers", most_values));
    });
    return attribute;
  }

  /// Appends the numbers of a repeated field, packed or not; false, without the rest, if there would be more
  /// than `most`: a packed number of one byte takes eight here.
  bool append(std::string_view message, const WireField& value, OnnxSizes& numbers, std::size_t most) const {
    if (value.type != WireType::varint && value.type != WireType::bytes) refuse_at(message, 0);
    WireReader packed(value.text);
    if (value.type == WireType::bytes && packed.at_end()) return true;
    do {
      if (numbers.size() >= most) return false;
      const auto number = value.type == WireType::varint ? std::optional(value.number) : packed.varint();
      if (!number) refuse_at(message, 0);
      numbers.push_back(static_cast<std::int64_t>(*number));
    } while (!packed.at_end());
    return true;
  }

  [[nodiscard]] OnnxTensor tensor(std::string_view message) const {
    OnnxTensor tensor;
    std::uint64_t type = 0;
    std::string_view raw;
    OnnxSizes numbers;
    bool has_all_dims = true;
    bool has_all_numbers = true;
    for_each(message, [&](const WireField& value) {
      if (value.field == tensor_dims)
        has_all_dims = append(message, value, tensor.dims, most_dims) && has_all_dims;
      if (value.field == tensor_type) type = value.number;
      if (value.field == tensor_ints || value.field == tensor_longs)
        has_all_numbers = append(message, value, numbers, most_values) && has_all_numbers;
      if (value.field == tensor_raw) raw = text(value);
    });
    const bool is_wrong = std::ranges::any_of(tensor.dims, [](std::int64_t size) { return size < 0; });
    // The number of elements may be none (0 times infinity), which is not at most this either.
    if (is_wrong || !has_all_dims || !(elements(tensor) <= most_elements)) refuse_shape(named(message));
    constexpr std::uint64_t int32 = 6;
    constexpr std::uint64_t int64 = 7;
    const auto count = static_cast<std::size_t>(elements(tensor));
    if ((type != int32 && type != int64) || !has_all_numbers || count > most_values) return tensor;
    if (!raw.empty()) numbers = values_in(raw, count, type == int64 ? 8 : 4);
    if (!numbers.empty() || count == 0) tensor.values = std::move(numbers);
    return tensor;
  }

  [[noreturn]] void refuse_shape(std::string_view of) const {
    refuse(fmt::format("the tensor {} has an impossible shape", shown(of)));
  }

  [[nodiscard]] OnnxInput input(std::string_view message) const {
    OnnxInput input{.name = std::string(part(message, value_name))};
    const std::string_view shape = part(part(part(message, value_type), type_tensor), tensor_shape);
    for_each(shape, [&](const WireField& field) {
      if (input.dims.size() >= most_dims) refuse_shape(input.name);
      OnnxDim& dim = input.dims.emplace_back();
      for_each(text(field), [&](const WireField& value) {
        const auto size = static_cast<std::int64_t>(value.number);
        if (value.field == dim_size && value.type == WireType::varint && size > 0) dim.size = size;
        if (value.field == dim_symbol) dim.symbol = text(value);
      });
    });
    return input;
  }

  std::string_view bytes_;
  OnnxGraph graph_;
};

}  // namespace

OnnxGraph read_onnx(const std::filesystem::path& file) {
  const std::string bytes = config::read_file(file, largest_onnx);
  if (bytes.size() > largest_onnx) throw input_error(file.string(), 0, "the model is larger than 4 GiB");
  return OnnxReader(file.string()).read(bytes);
}

}  // namespace trainyard
