#include "imports/onnx_layer_list.hpp"

#include "interchange/input_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// A file's name as text: null.yaml has the model "null".
std::string quoted_name(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string commented(std::string_view name) {
  std::string text = shown(name, 200);
  return text.substr(1, text.size() - 2);
}

std::string name_of_layer(const std::vector<OnnxEntry>& entries, std::size_t i) {
  return i == 0 ? "input" : entries[i].name;
}

std::string entry_text(const std::vector<OnnxEntry>& entries, std::size_t i) {
  const OnnxEntry& entry = entries[i];
  if (i == 0) return "input: " + entry.keys;
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value);
  };
  if (!entry.name.empty()) add("name", entry.name);
  if (entry.is_join) {
    std::string inputs;
    for (const std::size_t input : entry.inputs)
      inputs += (inputs.empty() ? "" : ", ") + name_of_layer(entries, input);
    add(entry.kind, "[" + inputs + "]");
    return "{" + text + "}";
  }
  if (entry.inputs.front() + 1 != i) add("from", name_of_layer(entries, entry.inputs.front()));
  if (entry.keys.empty() && text.empty()) return entry.kind;
  add(entry.kind, entry.keys.empty() ? "{}" : entry.keys);
  return "{" + text + "}";
}

}  // namespace

std::string layer_list_text(const OnnxGraph& graph, const std::string& name, std::vector<OnnxEntry> entries) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    for (const std::size_t input : entries[i].inputs) {
      const bool is_named = input > 0 && (entries[i].is_join || input + 1 != i);
      if (is_named && entries[input].name.empty())
        entries[input].name = fmt::format("{}_{}", entries[input].kind, input);
    }
  }
  std::string text = fmt::format("# {}, an ONNX model{}, by `trainyard import onnx`\nname: {}\nlayers:\n",
                                 commented(base_name(graph.file)),
                                 graph.operators ? fmt::format(" of operator set {}", *graph.operators) : "",
                                 quoted_name(name));
  for (std::size_t i = 0; i < entries.size(); ++i) text += "  - " + entry_text(entries, i) + "\n";
  return text;
}

}  // namespace trainyard
