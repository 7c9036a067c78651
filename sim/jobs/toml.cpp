// The only user of toml++.
#include "jobs/places.hpp"
#include "jobs/tree_settings.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <toml++/toml.h>

namespace trainyard::jobs {
namespace {

using config::Node;

config::Mark mark_of(const toml::node& node) {
  const toml::source_position at = node.source().begin;
  return {static_cast<int>(at.line), static_cast<int>(at.column)};
}

Node tree_of(const toml::node& value) {
  if (const toml::table* const table = value.as_table()) {
    Node node = config::make_node(Node::Kind::mapping, mark_of(value));
    for (const auto& [key, inner] : *table) {
      const toml::source_position at = key.source().begin;
      node.entries.push_back(
          {std::string(key.str()), {static_cast<int>(at.line), static_cast<int>(at.column)}, tree_of(inner)});
    }
    // toml++ sorts them by name
    std::ranges::stable_sort(node.entries, {}, [](const Node::Entry& entry) { return entry.mark.line; });
    return node;
  }
  if (const toml::array* const array = value.as_array()) {
    Node node = config::make_node(Node::Kind::sequence, mark_of(value));
    for (const toml::node& item : *array) node.items.push_back(tree_of(item));
    return node;
  }
  Node node = config::make_node(Node::Kind::scalar, mark_of(value));
  node.quoted = value.is_string();
  if (const auto text = value.value_exact<std::string>()) {
    node.scalar = *text;
  } else {
    std::ostringstream written;
    written << toml::node_view<const toml::node>(value);
    node.scalar = written.str();
  }
  return node;
}

/// A line whose key has more than 100 parts: the parser's depth follows them. 0: none.
int too_deep_line(std::string_view text) {
  constexpr std::ptrdiff_t most = 100;
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    if (std::ranges::count(whole.substr(0, whole.find_first_of("=\"'#")), '.') > most) return line;
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
  }
  return 0;
}

}  // namespace

config::Document parse_toml(const std::string& file, std::string_view text) {
  if (const int line = too_deep_line(text); line > 0)
    throw InputError({Diagnostic{.file = file,
                                 .line = line,
                                 .column = 1,
                                 .key_path = {},
                                 .message = "a key has more than 100 parts",
                                 .hint = {},
                                 .source_line = {}}});
  try {
    config::Document document{.name = file};
    document.root = tree_of(toml::parse(text));
    return document;
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw InputError(
        {Diagnostic{.file = file,
                    .line = static_cast<int>(at.line),
                    .column = static_cast<int>(at.column),
                    .key_path = {},
                    .message = fmt::format("the file is not valid TOML: {}", error.description()),
                    .hint = {},
                    .source_line = line_of(text, static_cast<int>(at.line))}});
  }
}

}  // namespace trainyard::jobs
