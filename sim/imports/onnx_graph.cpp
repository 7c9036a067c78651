#include "imports/onnx_graph.hpp"

#include "config/read_file.hpp"
#include "imports/wire_format.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t largest_onnx = std::size_t{4} << 30U;
constexpr std::size_t most_values = 4096;  // of a tensor whose values are kept: shapes and axes
constexpr double most_elements = 1e12;
constexpr std::size_t most_dims = 64;  // of a tensor

// Numbers of fields, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
enum class OnnxModelField : std::uint32_t { version = 1, graph = 7, operators = 8 };
enum class OnnxOperatorsField : std::uint32_t { domain = 1, version = 2 };
enum class OnnxGraphField : std::uint32_t { node = 1, name = 2, weight = 5, input = 11, output = 12 };
enum class OnnxNodeField : std::uint32_t {
  input = 1,
  output = 2,
  name = 3,
  kind = 4,
  attribute = 5,
  domain = 7
};
enum class OnnxAttributeField : std::uint32_t {
  name = 1,
  real = 2,
  number = 3,
  text = 4,
  tensor = 5,
  graph = 6,
  numbers = 8,
  graphs = 11
};
enum class OnnxTensorField : std::uint32_t {
  dims = 1,
  type = 2,
  ints = 5,
  longs = 7,
  name = 8,
  raw = 9,
  location = 14
};
enum class OnnxValueField : std::uint32_t { name = 1, type = 2 };

class OnnxReader {
public:
  explicit OnnxReader(std::string file) { graph_.file = std::move(file); }

  OnnxGraph read(std::string_view bytes) {
    bytes_ = bytes;
    std::string_view body;
    for_each(bytes, [&](OnnxModelField field, const WireField& value) {
      if (field == OnnxModelField::version && value.type == WireType::varint)
        graph_.version = static_cast<std::int64_t>(value.number);
      if (field == OnnxModelField::graph) body = text(value);
      if (field == OnnxModelField::operators) read_operators(text(value));
    });
    if (body.empty()) throw input_error(graph_.file, 0, "no ONNX model: it has no graph");
    read_graph(body);
    return std::move(graph_);
  }

private:
  [[noreturn]] void refuse_at(std::string_view part, std::size_t at) const {
    const auto byte = static_cast<std::size_t>(part.data() - bytes_.data()) + at;
    throw input_error(graph_.file, 0, fmt::format("damaged or cut off at byte {}", byte),
                      "an ONNX model is expected: torch.onnx.export writes one");
  }

  template <class Field, class Use>
  void for_each_of(std::string_view message, const Use& use) const {
    WireReader reader(message);
    while (!reader.at_end()) {
      const std::size_t at = reader.position();
      const auto value = reader.field();
      if (!value) refuse_at(message, at);
      use(static_cast<Field>(value->field), *value);
    }
  }

  /// Calls `use` with each field of a message and its number as the enum that `use` takes.
  template <class Use>
  void for_each(std::string_view message, const Use& use) const {
    for_each_typed(message, use, &Use::operator());
  }
  template <class Use, class Class, class Field>
  void for_each_typed(std::string_view message, const Use& use,
                      void (Class::*)(Field, const WireField&) const) const {
    for_each_of<Field>(message, use);
  }

  [[nodiscard]] std::string_view text(const WireField& value) const {
    if (value.type != WireType::bytes)
      throw input_error(graph_.file, 0, "no ONNX model: a field is of another type");
    return value.text;
  }

  void read_operators(std::string_view message) {
    std::string_view domain;
    std::int64_t version = 0;
    for_each(message, [&](OnnxOperatorsField field, const WireField& value) {
      if (field == OnnxOperatorsField::domain) domain = text(value);
      if (field == OnnxOperatorsField::version) version = static_cast<std::int64_t>(value.number);
    });
    if (domain.empty() || domain == "ai.onnx") graph_.operators = version;
  }

  void read_graph(std::string_view message) {
    for_each(message, [&](OnnxGraphField field, const WireField& value) {
      switch (field) {
        case OnnxGraphField::node:
          graph_.nodes.push_back(node(text(value)));
          return;
        case OnnxGraphField::name:
          graph_.name = std::string(text(value));
          return;
        case OnnxGraphField::weight: {
          auto [name, tensor] = named_tensor(text(value));
          graph_.weights.insert_or_assign(std::move(name), std::move(tensor));
          return;
        }
        case OnnxGraphField::input:
          graph_.inputs.push_back(input(text(value)));
          return;
        case OnnxGraphField::output:
          graph_.outputs.push_back(input(text(value)).name);
          return;
      }
    });
    // before version 4 of the format weights were inputs, too
    std::erase_if(graph_.inputs, [&](const OnnxInput& one) { return graph_.weights.contains(one.name); });
  }

  OnnxNode node(std::string_view message) {
    OnnxNode node;
    for_each(message, [&](OnnxNodeField field, const WireField& value) {
      switch (field) {
        case OnnxNodeField::input:
          node.inputs.emplace_back(text(value));
          return;
        case OnnxNodeField::output:
          node.outputs.emplace_back(text(value));
          return;
        case OnnxNodeField::name:
          node.name = std::string(text(value));
          return;
        case OnnxNodeField::kind:
          node.kind = std::string(text(value));
          return;
        case OnnxNodeField::attribute:
          add_attribute(text(value), node);
          return;
        case OnnxNodeField::domain:
          node.domain = std::string(text(value));
          return;
      }
    });
    return node;
  }

  void add_attribute(std::string_view message, OnnxNode& node) {
    std::string name;
    OnnxAttribute attribute;
    for_each(message, [&](OnnxAttributeField field, const WireField& value) {
      switch (field) {
        case OnnxAttributeField::name:
          name = std::string(text(value));
          return;
        case OnnxAttributeField::real:
          if (value.type == WireType::four_bytes)
            attribute.real = std::bit_cast<float>(static_cast<std::uint32_t>(value.number));
          return;
        case OnnxAttributeField::number:
          attribute.number = static_cast<std::int64_t>(value.number);
          return;
        case OnnxAttributeField::text:
          attribute.text = std::string(text(value));
          return;
        case OnnxAttributeField::tensor:
          attribute.tensor = named_tensor(text(value)).second;
          return;
        case OnnxAttributeField::graph:
        case OnnxAttributeField::graphs:
          attribute.has_graph = true;
          return;
        case OnnxAttributeField::numbers:
          if (!append(message, value, attribute.numbers, most_values))
            throw input_error(graph_.file, 0,
                              fmt::format("an attribute has more than {} numbers", most_values));
          return;
      }
    });
    node.attributes.insert_or_assign(std::move(name), std::move(attribute));
  }

  /// Appends the numbers of a repeated field, packed or not; false, without the rest, if there would be more
  /// than `most`: a packed number of one byte takes eight here.
  bool append(std::string_view message, const WireField& value, std::vector<std::int64_t>& numbers,
              std::size_t most) const {
    if (value.type == WireType::varint) {
      if (numbers.size() >= most) return false;
      numbers.push_back(static_cast<std::int64_t>(value.number));
      return true;
    }
    if (value.type != WireType::bytes) refuse_at(message, 0);
    WireReader packed(value.text);
    while (!packed.at_end()) {
      if (numbers.size() >= most) return false;
      const auto number = packed.varint();
      if (!number) refuse_at(message, 0);
      numbers.push_back(static_cast<std::int64_t>(*number));
    }
    return true;
  }

  [[noreturn]] void refuse_shape(std::string_view of) const {
    throw input_error(graph_.file, 0, fmt::format("the tensor {} has an impossible shape", shown(of)));
  }

  std::pair<std::string, OnnxTensor> named_tensor(std::string_view message) const {
    std::string name;
    OnnxTensor tensor;
    std::uint64_t type = 0;
    std::string_view raw;
    std::vector<std::int64_t> numbers;
    bool has_all_dims = true;
    bool has_all_numbers = true;
    for_each(message, [&](OnnxTensorField field, const WireField& value) {
      switch (field) {
        case OnnxTensorField::dims:
          has_all_dims = append(message, value, tensor.dims, most_dims) && has_all_dims;
          return;
        case OnnxTensorField::type:
          type = value.number;
          return;
        case OnnxTensorField::ints:
        case OnnxTensorField::longs:
          has_all_numbers = append(message, value, numbers, most_values) && has_all_numbers;
          return;
        case OnnxTensorField::name:
          name = std::string(text(value));
          return;
        case OnnxTensorField::raw:
          raw = text(value);
          return;
        case OnnxTensorField::location:
          tensor.is_external = value.number == 1;
          return;
      }
    });
    const bool is_wrong = std::ranges::any_of(tensor.dims, [](std::int64_t size) { return size < 0; });
    // no number of elements (0 times infinity) is not at most this either
    if (is_wrong || !has_all_dims || !(tensor.elements() <= most_elements)) refuse_shape(name);
    if (has_all_numbers) set_values(type, raw, std::move(numbers), tensor);
    return {std::move(name), std::move(tensor)};
  }

  static void set_values(std::uint64_t type, std::string_view raw, std::vector<std::int64_t> numbers,
                         OnnxTensor& tensor) {
    constexpr std::uint64_t int32 = 6;
    constexpr std::uint64_t int64 = 7;
    if ((type != int32 && type != int64) || tensor.elements() > most_values) return;
    if (raw.empty()) {
      tensor.values = std::move(numbers);
      return;
    }
    const std::size_t size = type == int64 ? 8 : 4;
    raw = raw.substr(0, static_cast<std::size_t>(tensor.elements()) * size);
    for (std::size_t at = 0; at + size <= raw.size(); at += size) {  // little-endian
      std::int64_t value = 0;
      std::int32_t half = 0;
      if (type == int64) {
        std::memcpy(&value, raw.data() + at, size);
      } else {
        std::memcpy(&half, raw.data() + at, size);
        value = half;
      }
      tensor.values.push_back(value);
    }
  }

  /// A name and, below its type (field 1: tensor), its shape (field 2) of sizes (field 1), each a number (1)
  /// or a name (2).
  OnnxInput input(std::string_view message) const {
    OnnxInput input;
    enum class Field : std::uint32_t { first = 1, second = 2 };
    for_each(message, [&](OnnxValueField field, const WireField& value) {
      if (field == OnnxValueField::name) input.name = std::string(text(value));
      if (field != OnnxValueField::type) return;
      for_each(text(value), [&](Field kind, const WireField& tensor) {
        if (kind != Field::first) return;
        for_each(text(tensor), [&](Field part, const WireField& shape) {
          if (part != Field::second) return;
          for_each(text(shape), [&](Field, const WireField& size) {
            OnnxDim dim;
            std::string symbol;
            for_each(text(size), [&](Field what, const WireField& its) {
              if (what == Field::first && its.type == WireType::varint)
                dim = static_cast<std::int64_t>(its.number);
              if (what == Field::second) symbol = std::string(text(its));
            });
            if (dim && *dim <= 0) dim.reset();
            if (input.dims.size() >= most_dims) refuse_shape(input.name);
            input.dims.push_back(dim);
            input.symbols.push_back(symbol);
          });
        });
      });
    });
    return input;
  }

  std::string_view bytes_;
  OnnxGraph graph_;
};

}  // namespace

double OnnxTensor::elements() const {
  double count = 1;
  for (const std::int64_t size : dims) count *= static_cast<double>(size);
  return count;
}

OnnxGraph read_onnx(const std::filesystem::path& file) {
  const std::string bytes = config::read_file(file, largest_onnx);
  if (bytes.size() > largest_onnx) throw input_error(file.string(), 0, "the model is larger than 4 GiB");
  return OnnxReader(file.string()).read(bytes);
}

}  // namespace trainyard
