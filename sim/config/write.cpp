#include "config/write.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

namespace trainyard::config {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Words that some YAML readers do not read as text.
bool is_reserved(std::string text) {
  constexpr std::array<std::string_view, 11> words{"true", "false", "null", "yes", "no", "on",
                                                   "off",  "y",     "n",    "nan", "inf"};
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// Text that needs no quotes anywhere, not even in a list in brackets: one or more words.
bool is_plain(const std::string& text) {
  if (text.empty() || !is_letter(text[0]) || text.back() == ' ' || is_reserved(text)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view(" ./+-").find(c) != std::string_view::npos;
  });
}

std::string in_double_quotes(const std::string& text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = [&](std::size_t n) {
      return i + n < text.size() ? static_cast<unsigned char>(text[i + n]) : 0U;
    };
    if (text[i] == '"' || text[i] == '\\') {
      result += '\\';
      result += text[i];
    } else if (text[i] == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && next(1) < 0xA0) {  // U+0080 to U+009F: U+0085 is a line end
      result += fmt::format("\\u{:04x}", next(1));
      i += 1;
    } else if (byte == 0xE2 && next(1) == 0x80 && (next(2) == 0xA8 || next(2) == 0xA9)) {
      result += next(2) == 0xA8 ? "\\u2028" : "\\u2029";  // line and paragraph separators
      i += 2;
    } else if (byte == 0xEF && next(1) == 0xBB && next(2) == 0xBF) {
      result += "\\ufeff";  // a byte order mark
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result + "\"";
}

std::string scalar_text(const Node& node) {
  const bool has_lines = node.scalar.find('\n') != std::string::npos;
  return has_lines || (node.quoted && !is_plain(node.scalar)) ? in_double_quotes(node.scalar) : node.scalar;
}

/// Within brackets or braces, where commas, brackets and question marks end a text without quotes.
std::string text_in_brackets(const Node& node) {
  const bool would_end = node.scalar.find_first_of(",[]{}?") != std::string::npos;
  return would_end ? in_double_quotes(node.scalar) : scalar_text(node);
}

std::string key_text(const std::string& key) { return is_plain(key) ? key : in_double_quotes(key); }

std::string one_line(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "null";
    case Node::Kind::scalar:
      return scalar_text(node);
    case Node::Kind::sequence: {
      std::string text = "[";
      for (const Node& item : node.items) text += (text.size() == 1 ? "" : ", ") + text_in_brackets(item);
      return text + "]";
    }
    case Node::Kind::mapping:
      break;
  }
  std::string text = "{";
  for (const Node::Entry& entry : node.entries) {
    text += (text.size() == 1 ? "" : ", ") + key_text(entry.key) + ": " + text_in_brackets(entry.value);
  }
  return text + "}";
}

/// Whether a node is written in one line: scalars, lists of scalars, and short mappings of scalars such as a
/// value with its source.
bool is_line(const Node& node) {
  constexpr std::size_t longest_line = 110;
  const auto is_scalar = [](const Node& part) { return part.kind == Node::Kind::scalar; };
  switch (node.kind) {
    case Node::Kind::sequence:
      return std::ranges::all_of(node.items, is_scalar) &&
             (node.items.size() < 2 || one_line(node).size() <= longest_line);
    case Node::Kind::mapping:
      return std::ranges::all_of(node.entries, is_scalar, &Node::Entry::value) &&
             (node.entries.size() <= 8 && one_line(node).size() <= longest_line);
    default:
      return true;
  }
}

/// Appends the lines of a mapping or list; the caller has written any text before the first of them.
void append_block(std::string& text, const Node& node, std::size_t indent, bool first_in_line) {
  const auto start_line = [&] {
    if (!std::exchange(first_in_line, false)) text.append(indent, ' ');
  };
  for (const Node& item : node.items) {
    start_line();
    text += "- ";
    if (is_line(item)) {
      text += one_line(item) + "\n";
    } else {
      append_block(text, item, indent + 2, true);
    }
  }
  for (const Node::Entry& entry : node.entries) {
    start_line();
    text += key_text(entry.key) + ":";
    if (is_line(entry.value)) {
      text += " " + one_line(entry.value) + "\n";
    } else {
      text += "\n";
      append_block(text, entry.value, indent + 2, false);
    }
  }
}

void add_values(std::map<std::string, std::string>& values, const Node& node, const std::string& path) {
  const auto is_scalar = [](const Node& part) { return part.kind == Node::Kind::scalar; };
  const bool is_leaf = node.kind != Node::Kind::mapping &&
                       (node.kind != Node::Kind::sequence || std::ranges::all_of(node.items, is_scalar));
  if (is_leaf) {
    values[path] = one_line(node);
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) add_values(values, node.items[i], join(path, i));
  for (const Node::Entry& entry : node.entries) add_values(values, entry.value, join(path, entry.key));
}

}  // namespace

std::map<std::string, std::string> values_by_path(const Node& node) {
  std::map<std::string, std::string> values;
  add_values(values, node, {});
  return values;
}

Node plain_node(std::string text) {
  Node node = make_node(Node::Kind::scalar);
  node.scalar = std::move(text);
  return node;
}

Node text_node(std::string text) {
  Node node = plain_node(std::move(text));
  node.quoted = true;
  return node;
}

std::string emit(const Node& node) {
  const bool is_block = node.kind == Node::Kind::mapping && !node.entries.empty();
  if (!is_block && is_line(node)) return one_line(node) + "\n";
  std::string text;
  append_block(text, node, 0, false);
  return text;
}

}  // namespace trainyard::config
