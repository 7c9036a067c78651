#include "config/document.hpp"

#include "config/path.hpp"
#include "config/utf8.hpp"

#include <algorithm>

namespace trainyard::config {

namespace {

const Override& override_of(const Document& document, Mark mark) {
  return document.overrides.at(static_cast<std::size_t>(mark.source - 1));
}

/// The line of a mark; empty if there is none.
std::string_view line_of(const Document& document, Mark mark) {
  if (mark.source > 0) return override_of(document, mark).text;
  if (mark.line < 1 || mark.line > static_cast<int>(document.lines.size())) return {};
  return document.lines[static_cast<std::size_t>(mark.line - 1)];
}

constexpr std::string_view override_prefix = "--set ";

/// Characters up to and including the closing quote, for a text that starts with a quote.
int quoted_width(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[0] == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return count_characters(text.substr(0, i + 1));
    }
  }
  return count_characters(text);
}

const Node* step_into(const Node& node, const PathStep& step) {
  if (const auto* key = std::get_if<std::string>(&step)) return node.find(*key);
  const std::size_t index = std::get<std::size_t>(step);
  return index < node.items.size() ? &node.items[index] : nullptr;
}

}  // namespace

bool is_unset(const Node& node) {
  return node.mark.source > 0 && node.kind == Node::Kind::scalar && !node.quoted && node.scalar == unset_text;
}

Node make_node(Node::Kind kind, Mark mark) {
  Node node;
  node.kind = kind;
  node.mark = mark;
  return node;
}

const Node* Node::find(std::string_view key) const {
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& candidate) { return candidate.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

const Node& Document::nearest(std::string_view path) const {
  const Node* node = &root;
  const auto steps = parse_path(path);
  if (!std::holds_alternative<std::vector<PathStep>>(steps)) return *node;
  for (const PathStep& step : std::get<std::vector<PathStep>>(steps)) {
    const Node* next = step_into(*node, step);
    if (next == nullptr) break;
    node = next;
  }
  return *node;
}

bool remove(Document& document, std::string_view path) {
  const auto parsed = parse_path(path);
  const auto* steps = std::get_if<std::vector<PathStep>>(&parsed);
  if (steps == nullptr || steps->empty()) return false;
  Node* node = &document.root;
  for (std::size_t i = 0; i + 1 < steps->size(); ++i) {
    node = const_cast<Node*>(step_into(*node, (*steps)[i]));
    if (node == nullptr) return false;
  }
  if (const auto* key = std::get_if<std::string>(&steps->back()))
    return std::erase_if(node->entries, [&](const Node::Entry& entry) { return entry.key == *key; }) > 0;
  const std::size_t index = std::get<std::size_t>(steps->back());
  if (index >= node->items.size()) return false;
  node->items.erase(node->items.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

Diagnostic diagnostic_at(const Document& document, Mark mark, int width, std::string message,
                         std::string hint) {
  const bool is_elsewhere = mark.source > 0 && override_of(document, mark).written_at;
  Diagnostic diagnostic = is_elsewhere ? *override_of(document, mark).written_at : Diagnostic();
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  if (is_elsewhere) return diagnostic;
  diagnostic.width = width;
  diagnostic.source_line = line_of(document, mark);
  if (mark.source > 0) {
    diagnostic.file = "--set";
    diagnostic.source_line.insert(0, override_prefix);
    diagnostic.column = mark.column + static_cast<int>(override_prefix.size());
  } else {
    diagnostic.file = document.name;
    diagnostic.line = mark.line;
    diagnostic.column = mark.column;
  }
  return diagnostic;
}

int width_of(const Document& document, const Node& node) {
  if (node.kind != Node::Kind::scalar && node.kind != Node::Kind::null) return 1;
  const std::string_view line = line_of(document, node.mark);
  const std::string_view rest = cut_characters(line, node.mark.column - 1, static_cast<int>(line.size()));
  if (rest.empty()) return 1;
  // A missing value is marked at its key.
  if (node.kind == Node::Kind::null) {
    return std::max(1, count_characters(rest.substr(0, rest.find_first_of(":,=} "))));
  }
  if (rest[0] == '*') return count_characters(rest.substr(0, rest.find_first_of(",]} ")));  // an alias
  if (node.quoted) return rest[0] == '"' || rest[0] == '\'' ? quoted_width(rest) : 1;
  return std::clamp(count_characters(node.scalar), 1, count_characters(rest));
}

}  // namespace trainyard::config
