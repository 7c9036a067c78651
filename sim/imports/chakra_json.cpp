#include "imports/chakra_graph.hpp"
#include "interchange/input_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace trainyard {
namespace {

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

}  // namespace

ChakraGraph read_chakra_json(const std::string& file, std::string_view text) {
  return JsonNodes(file).read(text);
}

}  // namespace trainyard
