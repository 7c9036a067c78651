#include "imports/onnx_layer_list.hpp"

#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
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

OnnxListBuilder::OnnxListBuilder(const OnnxGraph& of, const OnnxSizes& sample)
    : graph(of), at(of), constants(of) {
  find_nodes();
  add_input(sample);
}

void OnnxListBuilder::find_nodes() {
  std::set<std::string_view> needed(graph.outputs.begin(), graph.outputs.end());
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    at.take(&*node);
    if (node->outputs.empty()) at.refuse("it has no output");
    if (std::ranges::none_of(node->outputs, [&](const auto& one) { return needed.contains(one); })) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    nodes.push_back(&*node);
    for (const std::string& input : node->inputs) ++uses[input];
  }
  at.take(nullptr);
  std::ranges::reverse(nodes);
  for (const std::string& output : graph.outputs) ++uses[output];
  if (const std::size_t rest = graph.nodes.size() - nodes.size(); rest > 0)
    note(fmt::format("left out: {} without effect on the output", plural(static_cast<int>(rest), "node")));
}

void OnnxListBuilder::add_input(OnnxSizes sample) {
  if (graph.inputs.size() != 1) refuse_inputs();
  const OnnxInput& input = graph.inputs.front();
  const bool is_open = sample.empty();
  OnnxSizes shape = std::move(sample);
  if (input.dims.size() < 2 && shape.empty())
    at.refuse(fmt::format("the input {} has no shape", shown(input.name)), "--sample 3x224x224 gives it");
  if (!shape.empty() && !input.dims.empty() && input.dims.size() != shape.size() + 1)
    at.refuse(fmt::format("the input {} has {} sizes with the batch, not {}", shown(input.name),
                          input.dims.size(), shape.size() + 1));
  for (std::size_t i = 1; i < input.dims.size(); ++i) {
    const OnnxDim& dim = input.dims[i];
    if (is_open && !dim.size)
      at.refuse(fmt::format("size {} of the input {} is dynamic{}", i, shown(input.name),
                            dim.symbol.empty() ? "" : ": " + shown(dim.symbol)),
                "--sample 3x224x224 gives all sizes of a sample");
    if (is_open) shape.push_back(*dim.size);
    if (dim.size && *dim.size != shape[i - 1])
      at.refuse(fmt::format("size {} of the input {} is {}, not {}", i, shown(input.name), *dim.size,
                            shape[i - 1]));
  }
  constexpr std::int64_t largest = 10'000'000;
  if (shape.size() > 3 || std::ranges::any_of(shape, [](auto size) { return size < 1 || size > largest; }))
    at.refuse(fmt::format("the input {} is no map, tokens or vector", shown(input.name)));
  entries.push_back({.kind = "input", .keys = fmt::format("[{}]", fmt::join(shape, ", ")), .inputs = {}});
  activations[input.name] = {.shape = shape, .entry = 0, .is_tokens = shape.size() == 1};
}

void OnnxListBuilder::refuse_inputs() const {
  const std::size_t named = std::min<std::size_t>(graph.inputs.size(), 8);
  std::string names;
  for (std::size_t i = 0; i < named; ++i)
    names += (names.empty() ? ": " : ", ") + shown(graph.inputs[i].name);
  if (graph.inputs.size() > named)
    names += fmt::format(" and {} more", grouped(static_cast<std::int64_t>(graph.inputs.size() - named)));
  at.refuse(fmt::format("the model has {} inputs{}", graph.inputs.size(), names),
            "export it with one input, or write the list of layers by hand");
}

const OnnxActivation& OnnxListBuilder::activation(std::size_t i) const {
  const auto found = activations.find(at.operand(i));
  if (found == activations.end()) at.refuse(fmt::format("input {} is no output of a layer", i));
  return found->second;
}

const OnnxActivation& OnnxListBuilder::map() const {
  const OnnxActivation& in = activation(0);
  if (in.shape.size() != 3)
    at.refuse("the input is no map of channels, height and width", "only two-dimensional ones are read");
  return in;
}

const OnnxSizes& OnnxListBuilder::weight(std::size_t i) {
  const OnnxSizes& shape = shape_of_weight(i);
  if (!learnt_.insert(constants.origin_of(at.operand(i))).second)
    at.refuse(fmt::format("the weight {} belongs to another layer, too", shown(at.operand(i))),
              "a list of layers shares weights of embeddings alone");
  parameters += static_cast<double>(product(shape));
  return shape;
}

bool OnnxListBuilder::take_bias(std::int64_t size) {
  if (at.has_operand(2) && product(weight(2)) != size)
    at.refuse("its bias does not fit the output", "a bias has a value for each channel or feature");
  return at.has_operand(2);
}

const OnnxSizes& OnnxListBuilder::shape_of_weight(std::size_t i) const {
  const OnnxSizes* const shape = constants.shape_of(at.operand(i));
  if (shape == nullptr) at.refuse(fmt::format("input {} is no weight: {}", i, shown(at.operand(i))));
  return *shape;
}

void OnnxListBuilder::add_entry(std::string kind, std::string keys, std::vector<std::size_t> inputs,
                                OnnxSizes shape, bool is_join) {
  constexpr std::int64_t largest = 10'000'000'000;
  if (product(shape) > largest || std::ranges::any_of(shape, [](std::int64_t size) { return size < 1; }))
    at.refuse(fmt::format("its output [{}] is too large, or empty", fmt::join(shape, ", ")));
  entries.push_back(
      {.kind = std::move(kind), .keys = std::move(keys), .inputs = std::move(inputs), .is_join = is_join});
  activations[at.output()] = {.shape = std::move(shape), .entry = entries.size() - 1};
}

void OnnxListBuilder::pass_on(OnnxSizes shape, std::size_t entry) {
  activations[at.output()] = {.shape = std::move(shape), .entry = entry};
}

void OnnxListBuilder::add_same(const char* kind, std::string keys) {
  const OnnxActivation in = activation(0);
  add_entry(kind, std::move(keys), {in.entry}, in.shape);
}

bool OnnxListBuilder::is_last() const {
  const std::string& out = at.output();
  return std::ranges::find(graph.outputs, out) != graph.outputs.end() && uses.at(out) == 1;
}

void OnnxListBuilder::note(std::string text) {
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

std::string OnnxListBuilder::text(const std::string& name) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    for (const std::size_t input : entries[i].inputs) {
      const bool is_named = input > 0 && (entries[i].is_join || input + 1 != i);
      if (is_named && entries[input].name.empty())
        entries[input].name = fmt::format("{}_{}", entries[input].kind, input);
    }
  }
  std::string made = fmt::format("# {}, an ONNX model{}, by `trainyard import onnx`\nname: {}\nlayers:\n",
                                 commented(base_name(graph.file)),
                                 graph.operators ? fmt::format(" of operator set {}", *graph.operators) : "",
                                 quoted_name(name));
  for (std::size_t i = 0; i < entries.size(); ++i) made += "  - " + entry_text(entries, i) + "\n";
  return made;
}

}  // namespace trainyard
