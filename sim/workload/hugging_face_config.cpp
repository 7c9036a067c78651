#include "workload/hugging_face_config.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace trainyard {
namespace {

using config::Node;

/// Calls `visit` with each pair of "key: value, key: value".
template <class Visit>
void for_each_entry(std::string_view entries, Visit visit) {
  while (!entries.empty()) {
    const std::string_view entry = entries.substr(0, entries.find(", "));
    entries.remove_prefix(std::min(entry.size() + 2, entries.size()));
    const std::size_t colon = entry.find(": ");
    visit(entry.substr(0, colon), entry.substr(colon + 2));
  }
}

Node scalar(std::string_view text, config::Mark mark) {
  Node node = config::make_node(Node::Kind::scalar, mark);
  node.scalar = text;
  return node;
}

bool is_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(first.size() + 1, words.size()));
  }
  return false;
}

bool are_different_numbers(const Node& one, const Node& other) {
  const Parsed<long long> first = parse_integer(one.scalar);
  const Parsed<long long> second = parse_integer(other.scalar);
  return first && second && *first != *second;
}

Node& child_of(Node& mapping, std::string_view key, config::Mark mark) {
  for (Node::Entry& entry : mapping.entries) {
    if (entry.key == key) return entry.value;
  }
  return mapping.entries.emplace_back(Node::Entry{std::string(key), mark, Node{}}).value;
}

}  // namespace

HuggingFaceConfig::HuggingFaceConfig(const config::Document& document, const Node& keys,
                                     const HuggingFaceKind& kind)
    : document_(document) {
  const Node* const type = keys.find("model_type");
  mark_ = type == nullptr ? keys.mark : type->mark;
  std::map<std::string, std::string, std::less<>> usual;
  for_each_entry(kind.names,
                 [&](std::string_view theirs, std::string_view name) { usual[std::string(theirs)] = name; });
  for_each_entry(kind.defaults, [&](std::string_view key, std::string_view value) {
    settings_[std::string(key)] = {std::string(key), mark_, scalar(value, mark_), false, true};
  });
  for (const Node::Entry& entry : keys.entries) {
    const auto other = usual.find(entry.key);
    const std::string name = other == usual.end() ? entry.key : other->second;
    const bool is_known = is_without_effect(entry.key) || is_word(kind.ignored, entry.key);
    Setting& setting = settings_[name];
    const bool says_nothing = entry.value.kind == Node::Kind::null;
    if (says_nothing && setting.is_given) continue;  // its other name has a value
    if (setting.is_given && !says_nothing && are_different_numbers(setting.value, entry.value)) {
      errors_.push_back(config::diagnostic_at(
          document, entry.mark, static_cast<int>(entry.key.size()) + 2,
          fmt::format("'{}' and '{}' are one key and have different values", setting.key, entry.key),
          "leave one of them out"));
    }
    setting = {entry.key, entry.mark, entry.value, true, is_known || says_nothing};
  }
  for_each_entry(kind.fixed, [&](std::string_view key, std::string_view value) {
    put(key, std::string(value), "model_type");
  });
}

const Node* HuggingFaceConfig::find(std::string_view key) {
  const auto found = settings_.find(key);
  if (found == settings_.end()) return nullptr;
  found->second.is_used = true;
  return found->second.value.kind == Node::Kind::null ? nullptr : &found->second.value;
}

std::optional<int> HuggingFaceConfig::whole(std::string_view key) {
  const Node* const node = find(key);
  if (node == nullptr) return std::nullopt;
  const Parsed<long long> value = parse_integer(node->scalar);
  if (node->kind == Node::Kind::scalar && value && *value >= 0 && *value <= std::numeric_limits<int>::max())
    return static_cast<int>(*value);
  error(key, "expected a whole number");
  return std::nullopt;
}

std::optional<double> HuggingFaceConfig::number(std::string_view key) {
  const Node* const node = find(key);
  if (node == nullptr) return std::nullopt;
  const Parsed<double> value = parse_number(node->scalar);
  if (node->kind == Node::Kind::scalar && value) return *value;
  error(key, "expected a number");
  return std::nullopt;
}

std::vector<int> HuggingFaceConfig::wholes(std::string_view key) {
  const Node* const node = find(key);
  std::vector<int> values;
  if (node == nullptr) return values;
  const auto append = [&](std::string_view text) {
    const Parsed<long long> value = parse_integer(text);
    if (value && *value >= 0 && *value <= std::numeric_limits<int>::max())
      values.push_back(static_cast<int>(*value));
    else
      error(key, "expected a list of whole numbers");
  };
  if (node->kind == Node::Kind::sequence) {
    for (const Node& item : node->items) append(item.scalar);
    return values;
  }
  for (std::string_view rest = node->scalar; !rest.empty();) {
    const std::string_view first = rest.substr(0, rest.find(' '));
    append(first);
    rest.remove_prefix(std::min(first.size() + 1, rest.size()));
  }
  return values;
}

bool HuggingFaceConfig::flag(std::string_view key) {
  const Node* const node = find(key);
  if (node == nullptr) return false;
  if (node->scalar != "true" && node->scalar != "false") error(key, "expected true or false");
  return node->scalar == "true";
}

std::string HuggingFaceConfig::text(std::string_view key) {
  const Node* const node = find(key);
  if (node == nullptr) return {};
  if (node->kind != Node::Kind::scalar) error(key, "expected a text");
  return node->scalar;
}

config::Mark HuggingFaceConfig::mark_of(std::string_view key) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? mark_ : found->second.value.mark;
}

void HuggingFaceConfig::put(std::string_view key, std::string value, std::string_view from) {
  const config::Mark mark = mark_of(from);
  Node* node = &family_;
  while (true) {
    const std::size_t dot = key.find('.');
    if (node->kind == Node::Kind::null) *node = config::make_node(Node::Kind::mapping, mark);
    node = &child_of(*node, key.substr(0, dot), mark);
    if (dot == std::string_view::npos) break;
    key.remove_prefix(dot + 1);
  }
  *node = scalar(value, mark);
}

void HuggingFaceConfig::put(std::string_view key, const std::vector<int>& values, std::string_view from) {
  const config::Mark mark = mark_of(from);
  Node& node = child_of(family_, key, mark);
  node = config::make_node(Node::Kind::sequence, mark);
  for (const int value : values) node.items.push_back(scalar(std::to_string(value), mark));
}

void HuggingFaceConfig::copy(std::string_view from, std::string_view key) {
  const Node* const node = find(from);
  if (node != nullptr) child_of(family_, key, node->mark) = *node;
}

Diagnostic HuggingFaceConfig::diagnostic(std::string_view key, std::string message, std::string hint) const {
  const auto found = settings_.find(key);
  const bool is_given = found != settings_.end() && found->second.is_given;
  const config::Mark mark = is_given ? found->second.mark : mark_;
  const std::string written = is_given ? found->second.key : std::string(key);
  Diagnostic made =
      config::diagnostic_at(document_, mark, is_given ? static_cast<int>(written.size()) + 2 : 1,
                            std::move(message), std::move(hint));
  made.key_path = written;
  return made;
}

void HuggingFaceConfig::warn(std::string_view key, std::string message, std::string effect) {
  warnings_.push_back(diagnostic(key, std::move(message), std::move(effect)));
  warnings_.back().severity = Severity::warning;
}

void HuggingFaceConfig::assume(std::string_view ours, std::string_view key, std::string message,
                               std::string hint) {
  warn(key, std::move(message), std::move(hint));
  warnings_.back().key_path = ours;
}

void HuggingFaceConfig::error(std::string_view key, std::string message, std::string hint) {
  errors_.push_back(diagnostic(key, std::move(message), std::move(hint)));
}

std::vector<Diagnostic> HuggingFaceConfig::finish() {
  for (const auto& [name, setting] : settings_) {
    if (setting.is_used) continue;
    warn(name, fmt::format("'{}' is not known", setting.key),
         "it is left out; if it adds layers or work, parameters and steps are larger than predicted");
  }
  if (!errors_.empty()) throw InputError(std::move(errors_));
  return std::move(warnings_);
}

void put_sequence_length(HuggingFaceConfig& config, std::string_view family) {
  constexpr int most = 4096;
  const int longest = config.whole("max_position_embeddings").value_or(most);
  config.put("sequence_length", std::min(longest, most), "max_position_embeddings");
  if (longest > most)
    config.assume(fmt::format("{}.sequence_length", family), "max_position_embeddings",
                  fmt::format("samples of {} tokens are assumed, the longest have {}", most, longest),
                  fmt::format("--set model.{}.sequence_length={}", family, 2 * most));
}

void put_attention(HuggingFaceConfig& config) {
  for (const char* const key : {"_attn_implementation", "attn_implementation"}) {
    if (config.text(key) != "eager") continue;
    config.put("attention", std::string("unfused"), key);
    return;
  }
  config.put("attention", std::string("flash"), "model_type");
}

void warn_of_further_parts(HuggingFaceConfig& config) {
  const Node* const quantized = config.find("quantization_config");
  if (quantized != nullptr && !quantized->entries.empty())
    config.warn("quantization_config", "quantized weights count in the precision of the job",
                "the model needs less memory");
  const Node* const pruned = config.find("pruned_heads");
  if (pruned != nullptr && !pruned->entries.empty())
    config.warn("pruned_heads", "all heads are counted", "parameters and steps are smaller");
  if (config.flag("add_cross_attention"))
    config.warn("add_cross_attention", "attention to an encoder is left out",
                "parameters and steps are larger");
  if (config.flag("tie_encoder_decoder"))
    config.warn("tie_encoder_decoder", "encoder and decoder have parameters of their own",
                "the model has fewer parameters");
}

std::string activation_named(HuggingFaceConfig& config, std::string_view key) {
  const std::string name = config.text(key);
  if (name.empty() || name.find("gelu") != std::string::npos) return "gelu";
  if (name == "silu" || name == "swish") return "silu";
  if (name == "relu" || name == "relu2" || name == "squared_relu") return "relu";
  config.warn(key, fmt::format("the activation '{}' is not known", name),
              "it is counted as gelu, a little of a step's time");
  return "gelu";
}

}  // namespace trainyard
