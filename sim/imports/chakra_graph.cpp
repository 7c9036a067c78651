#include "imports/chakra_graph.hpp"

#include "imports/byte_stream.hpp"
#include "imports/wire_format.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace trainyard {
namespace {

using chakra::AttributeField;
using chakra::MetadataField;
using chakra::NodeField;

constexpr std::size_t largest_chakra = std::size_t{2} << 30U;

struct Attribute {
  std::string_view name, text;
  std::uint64_t number = 0;
};

std::optional<Attribute> attribute_in(std::string_view bytes) {
  Attribute made;
  WireReader reader(bytes);
  while (!reader.at_end()) {
    const auto field = reader.field();
    if (!field) return std::nullopt;
    if (field->field == static_cast<std::uint32_t>(AttributeField::name)) {
      made.name = field->text;
    } else if (field->field > 2) {  // 2 is a comment
      made.number = field->number;
      made.text = field->text;
    }
  }
  return made;
}

using GraphJson = nlohmann::json;

class JsonNodes {
public:
  explicit JsonNodes(const std::string& file) : file_(file) {}

  ChakraGraph read(std::string_view text) {
    GraphJson root;
    try {
      root = GraphJson::parse(text);
    } catch (const GraphJson::parse_error& error) {
      throw input_error(file_, 0, fmt::format("no JSON: damaged or cut off at byte {}", error.byte));
    }
    const auto found = root.find("workload_graph");
    if (found == root.end() || !found->is_array()) throw input_error(file_, 0, "no array workload_graph");
    ChakraGraph graph{.file = file_, .schema = {}, .nodes = {}};
    for (const GraphJson& node : *found) {
      ++number_;
      if (!node.is_object()) refuse("is no object");
      graph.nodes.push_back(read_node(node));
    }
    return graph;
  }

private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw input_error(file_, 0, fmt::format("node {} of workload_graph {}", number_, what));
  }

  [[nodiscard]] std::optional<std::uint64_t> number(const GraphJson& node, const char* name) const {
    const auto found = node.find(name);
    if (found == node.end()) return std::nullopt;
    if (!found->is_number_unsigned()) refuse(fmt::format("has a {} that is no whole number from 0 on", name));
    return found->get<std::uint64_t>();
  }

  [[nodiscard]] std::uint64_t needed(const GraphJson& node, const char* name) const {
    const auto value = number(node, name);
    if (!value) refuse(fmt::format("has no {}", name));
    return *value;
  }

  [[nodiscard]] std::vector<std::uint64_t> numbers(const GraphJson& node, const char* name) const {
    std::vector<std::uint64_t> made;
    const auto found = node.find(name);
    if (found == node.end()) return made;
    if (!found->is_array()) refuse(fmt::format("has a {} that is no list", name));
    for (const GraphJson& one : *found) {
      if (!one.is_number_unsigned()) refuse(fmt::format("has a {} with something that is no id", name));
      made.push_back(one.get<std::uint64_t>());
    }
    return made;
  }

  [[nodiscard]] ChakraNode read_node(const GraphJson& node) const {
    ChakraNode made{.id = needed(node, "Id"),
                    .control_parents = numbers(node, "ctrlDeps"),
                    .data_parents = numbers(node, "data_deps"),
                    .duration_us = number(node, "runtime").value_or(0),
                    .comm_type = number(node, "comm_type"),
                    .comm_size = number(node, "comm_size"),
                    .num_ops = number(node, "num_ops"),
                    .tensor_size = number(node, "tensor_size")};
    const std::uint64_t type = needed(node, "NodeType");
    if (type > chakra::last_node_type) refuse("has an unknown NodeType");
    made.type = static_cast<chakra::NodeType>(type);
    const auto name = node.find("Name");
    if (name == node.end() || !name->is_string()) refuse("has no Name");
    made.name = name->get<std::string>();
    const auto is_cpu_op = node.find("is_cpu_op");
    if (is_cpu_op != node.end() && is_cpu_op->is_boolean()) made.is_cpu_op = is_cpu_op->get<bool>();
    return made;
  }

  const std::string& file_;
  int number_ = 0;
};

/// The JSON variant, an object with the array "workload_graph". Source of the names: mlcommons/chakra
/// src/feeder/json_node.cpp.
ChakraGraph read_chakra_json(const std::string& file, std::string_view text) {
  return JsonNodes(file).read(text);
}

class ChakraReader {
public:
  explicit ChakraReader(const std::filesystem::path& file) : bytes_(all_bytes(file, largest_chakra)) {
    graph_.file = file.string();
    if (bytes_.size() > largest_chakra)
      throw input_error(graph_.file, 0, "an execution trace of more than 2 GiB");
  }

  ChakraGraph read() {
    if (bytes_.starts_with('{') &&
        std::string_view(bytes_).substr(0, 200).find("\"workload_graph\"") != std::string_view::npos)
      graph_ = read_chakra_json(graph_.file, bytes_);
    else
      read_messages();
    check();
    return std::move(graph_);
  }

private:
  void read_messages() {
    refuse_other_formats();
    WireReader reader(bytes_);
    bool is_first = true;
    while (!reader.at_end()) {
      const std::size_t position = reader.position();
      const auto message = reader.message();
      if (!message || !add(*message, is_first)) refuse(position);
      is_first = false;
    }
  }

  void check() const {
    if (graph_.nodes.empty()) throw input_error(graph_.file, 0, "the execution trace has no node");
    std::unordered_set<std::uint64_t> ids;
    for (const ChakraNode& node : graph_.nodes) {
      if (!ids.insert(node.id).second)
        throw input_error(graph_.file, 0, fmt::format("two nodes have the id {}", node.id));
    }
  }

  /// The first messages of an execution trace have control characters: lengths and keys.
  void refuse_text(std::string_view start) const {
    constexpr std::size_t enough = 40;
    if (start.size() < enough || start.front() == '{' || start.front() == '[') return;
    const bool is_text = std::ranges::all_of(start, [](char c) {
      return c == '\n' || c == '\t' || c == '\r' || static_cast<unsigned char>(c) >= 0x20;
    });
    if (is_text)
      throw input_error(graph_.file, 0,
                        fmt::format("text, not an execution trace of Chakra: {}", shown(start)),
                        "workloads of ASTRA-sim: trainyard import astra-sim");
  }

  void refuse_other_formats() const {
    if (bytes_.empty()) throw input_error(graph_.file, 0, "the file is empty");
    const std::string_view start = std::string_view(bytes_).substr(0, 4000);
    refuse_text(start);
    if (start.front() != '{' && start.front() != '[') return;
    std::string what = "JSON, not Chakra's binary execution trace";
    std::string hint;
    if (start.find("\"traceEvents\"") != std::string::npos) {
      what = "a profile of torch.profiler (Chrome trace), not an execution trace";
      hint = "trainyard import kineto";
    } else if (start.find("\"schema\"") != std::string::npos) {
      what = "a host trace of PyTorch's ExecutionTraceObserver, without durations";
      hint = "link it with its profile (chakra_trace_link) and convert it (chakra_converter)";
    } else if (start.size() < 2 || (start[1] != '"' && start[1] != '\n' && start[1] != ' ')) {
      return;  // a first message of 91 or 123 bytes
    }
    throw input_error(graph_.file, 0, what, hint);
  }

  [[noreturn]] void refuse(std::size_t position) const {
    throw input_error(graph_.file, 0,
                      fmt::format("no execution trace of Chakra: damaged or cut off at byte {}", position),
                      "expected: messages of protobuf behind their lengths (NAME.0.et)");
  }

  bool add(std::string_view message, bool is_first) {
    ChakraNode node;
    bool has_type = false;
    std::string schema;
    WireReader reader(message);
    while (!reader.at_end()) {
      const auto field = reader.field();
      if (!field) return false;
      if (is_first && !has_type && field->type == WireType::bytes) note_schema(*field, schema);
      if (!add_field(*field, node, has_type, is_first)) return false;
    }
    if (is_first && !has_type) {  // GlobalMetadata, which files of 2023 do not have
      graph_.schema = std::move(schema);
      return true;
    }
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  static void note_schema(const WireField& field, std::string& schema) {
    if (field.field == static_cast<std::uint32_t>(MetadataField::version)) schema = field.text;
    if (field.field != static_cast<std::uint32_t>(MetadataField::attribute)) return;
    const auto attribute = attribute_in(field.text);
    if (attribute && attribute->name == "schema") schema = attribute->text;
  }

  bool add_field(const WireField& field, ChakraNode& node, bool& has_type, bool may_be_metadata) {
    switch (static_cast<NodeField>(field.field)) {
      case NodeField::id:
        node.id = field.number;
        return may_be_metadata || field.type == WireType::varint;
      case NodeField::name:
        node.name = field.text;
        return field.type == WireType::bytes;
      case NodeField::type:
        has_type = true;
        node.type = static_cast<chakra::NodeType>(field.number);
        return field.type == WireType::varint && field.number <= chakra::last_node_type;
      case NodeField::control_parents:
        return append_numbers(field, node.control_parents);
      case NodeField::data_parents:
        return append_numbers(field, node.data_parents);
      case NodeField::start_us:
        node.start_us = field.number;
        return true;
      case NodeField::duration_us:
        node.duration_us = field.number;
        return true;
      case NodeField::attribute:
        return field.type == WireType::bytes && add_attribute(field.text, node);
    }
    return true;
  }

  static bool add_attribute(std::string_view bytes, ChakraNode& node) {
    const auto attribute = attribute_in(bytes);
    if (!attribute) return false;
    if (attribute->name == chakra::is_cpu_op) {
      node.is_cpu_op = attribute->number != 0;
    } else if (attribute->name == chakra::comm_type) {
      node.comm_type = attribute->number;
    } else if (attribute->name == chakra::comm_size) {
      node.comm_size = attribute->number;
    } else if (attribute->name == chakra::num_ops) {
      node.num_ops = attribute->number;
    } else if (attribute->name == chakra::tensor_size) {
      node.tensor_size = attribute->number;
    } else if (attribute->name == chakra::pg_name) {
      node.group = std::string(attribute->text);
    } else if (attribute->name == chakra::duration_ns) {
      node.duration_ns = attribute->number;
    } else if (attribute->name == chakra::phase) {
      node.phase = std::string(attribute->text);
    }
    return true;
  }

  std::string bytes_;
  ChakraGraph graph_;
};

}  // namespace

ChakraGraph read_chakra(const std::filesystem::path& file) { return ChakraReader(file).read(); }

}  // namespace trainyard
