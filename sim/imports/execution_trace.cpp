#include "imports/execution_trace.hpp"

#include "config/diagnostic.hpp"
#include "config/utf8.hpp"
#include "imports/byte_stream.hpp"
#include "imports/group_layout.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace trainyard {
namespace {

using TraceJson = nlohmann::json;

constexpr std::size_t largest_execution_trace = std::size_t{4} << 30U;

/// "float" of "Tensor(float)"; empty for what is no tensor of values.
std::string_view element_type(std::string_view type) {
  constexpr std::string_view prefix = "Tensor(";
  if (!type.starts_with(prefix) || !type.ends_with(')')) return {};
  type.remove_prefix(prefix.size());
  type.remove_suffix(1);
  return type.starts_with("nullptr") ? std::string_view{} : type;
}

class TraceReader {
public:
  explicit TraceReader(const std::filesystem::path& file) { trace_.file = file.string(); }

  ExecutionTrace read(const std::string& text) {
    bool has_nodes = false;
    const auto keep = [&](int depth, TraceJson::parse_event_t event, TraceJson& value) {
      constexpr int deepest = 64;
      if (depth > deepest) refuse("the file nests deeper than 64 levels");
      if (depth == 1 && event == TraceJson::parse_event_t::key) key_ = value.get<std::string>();
      if (depth == 1 && event == TraceJson::parse_event_t::array_start && key_ == "nodes") has_nodes = true;
      const bool is_other =
          event == TraceJson::parse_event_t::value || event == TraceJson::parse_event_t::array_start;
      if (depth == 2 && is_other && has_nodes && key_ == "nodes")
        refuse(fmt::format("node no. {} is no object", count_ + 1));
      if (depth != 2 || event != TraceJson::parse_event_t::object_end || key_ != "nodes") return true;
      add(value);
      return false;
    };
    TraceJson root;
    try {
      root = TraceJson::parse(text, keep);
    } catch (const TraceJson::parse_error& error) {
      refuse(fmt::format("no JSON: damaged or cut off at byte {}", error.byte));
    } catch (const TraceJson::out_of_range&) {
      refuse("a number is out of range");
    }
    if (!root.is_object() || !has_nodes) refuse("no array of nodes");
    if (const auto schema = root.find("schema"); schema != root.end() && schema->is_string())
      trace_.schema = schema->get<std::string>();
    if (trace_.nodes.empty()) refuse("the execution trace has no operators");
    std::ranges::sort(trace_.nodes, {}, &TracedNode::id);
    const auto same = std::ranges::adjacent_find(trace_.nodes, {}, &TracedNode::id);
    if (same != trace_.nodes.end()) refuse(fmt::format("two nodes have the id {}", same->id));
    trace_.missing_parents =
        static_cast<std::uint64_t>(std::ranges::count_if(trace_.nodes, [&](const TracedNode& node) {
          return node.parent != 0 &&
                 !std::ranges::binary_search(trace_.nodes, node.parent, {}, &TracedNode::id);
        }));
    std::ranges::stable_sort(trace_.nodes, {}, &TracedNode::record);
    return std::move(trace_);
  }

private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw input_error(trace_.file, 0, message,
                      "an execution trace is written by torch.profiler's ExecutionTraceObserver");
  }
  [[noreturn]] void refuse_node(const TraceJson& node, const std::string& what) const {
    const auto id = node.find("id");
    const std::string name = id != node.end() && id->is_number() ? id->dump() : fmt::format("no. {}", count_);
    throw input_error(trace_.file, 0, fmt::format("node {} {}", name, what));
  }

  std::uint64_t number(const TraceJson& node, const TraceJson& value, std::string_view name) const {
    if (!value.is_number_unsigned())
      refuse_node(node, fmt::format("has a {} that is no whole number from 0 on", name));
    return value.get<std::uint64_t>();
  }

  void add(const TraceJson& json) {
    ++count_;
    const auto name = json.find("name");
    if (name == json.end() || !name->is_string()) refuse_node(json, "has no name");
    if (json.contains("ph")) {  // the kernels that trace_link of Chakra adds
      if (const auto category = json.find("cat"); category != json.end()) {
        ++trace_.kernels;
        return;
      }
    }
    TracedNode node;
    node.name = text_of(*name);
    const auto id = json.find("id");
    if (id == json.end()) refuse_node(json, "has no id");
    node.id = number(json, *id, "id");
    if (const auto inputs = json.find("inputs"); inputs != json.end() && inputs->is_object()) {
      read_nested(json, node, *inputs);
    } else {
      read_flat(json, node);
    }
    trace_.nodes.push_back(std::move(node));
  }

  static std::string text_of(const TraceJson& json) {
    constexpr std::size_t longest = std::size_t{64} << 10U;
    return json.get<std::string>().substr(0, longest);
  }

  /// A member of an object; an empty list if it has none.
  static const TraceJson& member(const TraceJson& object, const char* name) {
    static const TraceJson none = TraceJson::array();
    const auto found = object.find(name);
    return found == object.end() || !found->is_array() ? none : *found;
  }

  void read_flat(const TraceJson& json, TracedNode& node) {
    for (const auto& [name, value] : json.items()) set(json, node, name, value);
    read_operands(json, node, member(json, "inputs"), member(json, "input_shapes"),
                  member(json, "input_types"), TraceJson::array(), member(json, "outputs"));
  }

  void read_nested(const TraceJson& json, TracedNode& node, const TraceJson& inputs) {
    if (const auto parent = json.find("ctrl_deps"); parent != json.end()) set(json, node, "parent", *parent);
    for (const TraceJson& attribute : member(json, "attrs")) {
      if (!attribute.is_object()) refuse_node(json, "has an attribute that is no object");
      const auto name = attribute.find("name");
      const auto value = attribute.find("value");
      if (name == attribute.end() || !name->is_string() || value == attribute.end()) continue;
      set(json, node, name->get<std::string>(), *value);
    }
    const auto outputs = json.find("outputs");
    static const TraceJson none = TraceJson::object();
    const TraceJson& written = outputs == json.end() || !outputs->is_object() ? none : *outputs;
    read_operands(json, node, member(inputs, "values"), member(inputs, "shapes"), member(inputs, "types"),
                  member(inputs, "strides"), member(written, "values"));
  }

  void set(const TraceJson& json, TracedNode& node, const std::string& name, const TraceJson& value) {
    if (name == "parent") {
      node.parent = number(json, value, name);
    } else if (name == "rf_id") {
      node.record = number(json, value, name);
    } else if (name == "tid") {
      node.thread = number(json, value, name);
    } else if (name == "fw_tid") {
      node.forward_thread = number(json, value, name);
    } else if (name == "seq_id") {
      if (value.is_number_unsigned()) node.sequence = value.get<std::uint64_t>();  // -1: none
    } else if (name == "scope") {
      constexpr std::uint64_t of_user = 7;  // at::RecordScope::USER_SCOPE
      node.is_range = number(json, value, name) == of_user;
    } else if (name == "op_schema" && value.is_string()) {
      node.writes = value.get_ref<const std::string&>().find("!)") != std::string::npos;  // Tensor(a!)
    } else if (name == "kernel_backend" && value.is_string()) {
      node.is_kernel = !value.get_ref<const std::string&>().empty();
    } else if (name == "collective_name" && value.is_string()) {
      collective_.name = text_of(value);
    } else if (name == "pg_name" && value.is_string()) {
      collective_.group = text_of(value);
    } else if (name == "pg_size" && value.is_number_unsigned()) {
      collective_.ranks = ranks_in(value);
    }
  }

  static int ranks_in(const TraceJson& value) {
    constexpr double most = 1e9;
    return static_cast<int>(std::clamp(value.get<double>(), 0.0, most));
  }

  void read_operands(const TraceJson& json, TracedNode& node, const TraceJson& values,
                     const TraceJson& shapes, const TraceJson& types, const TraceJson& strides,
                     const TraceJson& outputs) {
    add_tensors(json, values, node.inputs);
    add_tensors(json, outputs, node.outputs);
    if (node.name == "record_param_comms") add_collective(json, node, values);
    collective_ = {};
    if (node.name == "## process_group:init ##") add_groups(values);
    if (shapes.empty()) return;
    node.dims = shapes.dump();
    TraceJson texts = TraceJson::array();
    for (const TraceJson& type : types)
      texts.push_back(type.is_string() ? std::string(element_type(type.get_ref<const std::string&>()))
                                       : std::string());
    node.types = dumped(texts);
    texts = TraceJson::array();
    for (const TraceJson& value : values) texts.push_back(is_tensor(value) ? std::string() : concrete(value));
    node.values = dumped(texts);
    if (!strides.empty()) node.strides = dumped(strides);
  }

  static std::string dumped(const TraceJson& json) {
    return json.dump(-1, ' ', false, TraceJson::error_handler_t::replace);
  }

  /// A value that is no tensor, as Kineto writes it.
  static std::string concrete(const TraceJson& value) {
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_string()) return value.get<std::string>();
    constexpr std::size_t longest = 64;  // of the lists that shapes are made of
    return value.is_array() && value.size() > longest ? std::string() : dumped(value);
  }

  /// [tensor, storage, offset, elements, bytes of each, device]
  static bool is_tensor(const TraceJson& value) {
    constexpr std::size_t parts = 6;
    if (!value.is_array() || value.size() != parts || !value[5].is_string()) return false;
    return std::all_of(value.begin(), value.begin() + 5,
                       [](const TraceJson& one) { return one.is_number_unsigned(); });
  }

  void add_tensors(const TraceJson& json, const TraceJson& values, std::vector<TracedTensor>& tensors) const {
    for (const TraceJson& value : values) {
      if (!is_tensor(value)) {
        if (value.is_array()) add_tensors(json, value, tensors);
        continue;
      }
      TracedTensor tensor{.storage = value[1].get<std::uint64_t>(),
                          .elements = value[3].get<double>(),
                          .bytes_each = value[4].get<double>(),
                          .is_on_host = value[5].get_ref<const std::string&>().starts_with("cpu")};
      if (tensor.bytes() > 1e15) refuse_node(json, "has a tensor of more than 1 PB");
      if (!value[5].get_ref<const std::string&>().empty())
        tensors.push_back(tensor);  // else it is not initialised
    }
  }

  /// Before schema 1.1.0 by position: tensors, number, group, rank, name, splits, and later additions.
  void add_collective(const TraceJson& json, TracedNode& node, const TraceJson& values) {
    ObservedCollective observed = std::move(collective_);
    if (observed.name.empty()) {
      const auto name =
          std::ranges::find_if(values, [](const TraceJson& value) { return value.is_string(); });
      if (name != values.end()) observed.name = text_of(*name);
    }
    if (observed.name.empty() || observed.name == "wait" || observed.name == "init") return;
    constexpr std::size_t group_place = 2;
    constexpr std::size_t behind_splits = 7;
    if (observed.group.empty() && values.size() > group_place && !is_tensor(values[group_place])) {
      const TraceJson& group = values[group_place];
      observed.group =
          group.is_array() && !group.empty() && group[0].is_string() ? text_of(group[0]) : concrete(group);
    }
    if (observed.ranks == 0 && values.size() > behind_splits && values.back().is_number_unsigned())
      observed.ranks = ranks_in(values.back());
    std::vector<TracedTensor> input;
    if (!values.empty()) add_tensors(json, TraceJson::array({values[0]}), input);
    for (const TracedTensor& one : input) observed.in_bytes += one.bytes();
    for (const TracedTensor& one : node.outputs) observed.out_bytes += one.bytes();
    node.collective = std::move(observed);
  }

  /// The groups of ranks are a text that is JSON itself.
  void add_groups(const TraceJson& values) {
    if (values.empty() || !values[0].is_string()) return;
    const auto groups = TraceJson::parse(values[0].get_ref<const std::string&>(), nullptr, false);
    if (!groups.is_array()) return;
    for (const TraceJson& group : groups) {
      if (!group.is_object()) continue;
      const auto name = group.find("pg_name");
      const auto size = group.find("group_size");
      if (name == group.end() || !name->is_string() || size == group.end() || !size->is_number_unsigned())
        continue;
      RankGroup& known = trace_.groups[text_of(*name)];
      known.size = ranks_in(*size);
      if (const auto ranks = group.find("ranks"); ranks != group.end())
        known.ranks = listed_ranks(ranks->dump()).value_or(std::vector<int>());
      const auto description = group.find("pg_desc");
      if (description != group.end() && description->is_string()) known.description = text_of(*description);
    }
  }

  ExecutionTrace trace_;
  ObservedCollective collective_;  // from the attributes of the node at hand
  std::string key_;
  std::uint64_t count_ = 0;
};

}  // namespace

ExecutionTrace read_execution_trace(const std::filesystem::path& file) {
  const std::string text = all_bytes(file, largest_execution_trace);
  if (text.size() > largest_execution_trace)
    throw input_error(file.string(), 0, "the execution trace is larger than 4 GiB", "record fewer steps");
  return TraceReader(file).read(text);
}

}  // namespace trainyard
