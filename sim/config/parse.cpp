// parse, load and set of document.hpp.
#include "config/compiled.hpp"
#include "config/document.hpp"
#include "config/file_format.hpp"
#include "config/path.hpp"
#include "config/plain_text.hpp"
#include "config/read_file.hpp"
#include "config/utf8.hpp"
#include "config/yaml.hpp"
#include "units/control_characters.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <optional>

namespace trainyard::config {

namespace {

constexpr std::initializer_list<FileFormat> yaml_formats{FileFormat::json, FileFormat::trainyard_yaml};

/// YAML reads JSON, and has only confusing errors for XML and binary files.
bool may_be_foreign(std::string_view text) {
  constexpr std::string_view brackets = "{[<";
  return !text.empty() && (brackets.find(text.front()) != std::string_view::npos ||
                           binary_format_of(text) != FileFormat::unknown);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  lines.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// JSON may be indented with tabs. Each becomes one blank, so that columns stay.
void indent_with_blanks(std::string& text) {
  bool is_indentation = true;
  for (char& c : text) {
    if (c == '\t' && is_indentation) c = ' ';
    is_indentation = c == '\n' || (is_indentation && c == ' ');
  }
}

/// Where set() reports errors: the override's number, and the offset of the value in it.
struct Place {
  int source = 0;
  int columns = 0;
};

void relocate(Node& node, Place place) {
  const auto move = [&](Mark& mark) { mark = {1, mark.column + place.columns, place.source}; };
  move(node.mark);
  for (Node& item : node.items) relocate(item, place);
  for (Node::Entry& entry : node.entries) {
    move(entry.mark);
    relocate(entry.value, place);
  }
}

[[noreturn]] void reject(const Document& document, Mark mark, std::string message, std::string hint = {}) {
  throw InputError({diagnostic_at(document, mark, 1, std::move(message), std::move(hint))});
}

/// The value after '=', with marks in the override.
Node override_value(const Document& document, Place place, std::string_view text) {
  Document value{.name = "--set"};
  try {
    const std::string plain = plain_text(value.name, text);
    value.lines = lines_of(plain);
    YamlResult result = read_yaml(value, plain);
    if (!result.errors.empty()) throw InputError(std::move(result.errors));
    relocate(result.root, place);
    return std::move(result.root);
  } catch (const InputError& error) {
    std::vector<Diagnostic> diagnostics;
    for (const Diagnostic& found : error.diagnostics()) {
      const Mark mark{1, std::max(1, found.column) + place.columns, place.source};
      diagnostics.push_back(diagnostic_at(document, mark, found.width, found.message, found.hint));
    }
    throw InputError(std::move(diagnostics));
  }
}

/// The value of `key`, created if missing.
Node& enter_key(const Document& document, Node& node, const std::string& key, std::string_view reached,
                Mark mark) {
  if (node.kind == Node::Kind::null) node = make_node(Node::Kind::mapping, mark);
  if (node.kind == Node::Kind::sequence) {
    reject(document, mark, in_quotes(reached) + " is a list", "write " + join(reached, std::size_t{0}));
  }
  if (node.kind == Node::Kind::scalar) {
    reject(document, mark, in_quotes(reached) + " is a single value without keys");
  }
  for (Node::Entry& entry : node.entries) {
    if (entry.key == key) return entry.value;
  }
  return node.entries.emplace_back(Node::Entry{key, mark, make_node(Node::Kind::null, mark)}).value;
}

Node& enter_index(const Document& document, Node& node, std::size_t index, std::string_view reached,
                  Mark mark) {
  if (node.kind != Node::Kind::sequence) reject(document, mark, in_quotes(reached) + " is not a list");
  if (index >= node.items.size()) {
    reject(document, mark,
           in_quotes(reached) + " has " + plural(std::ssize(node.items), "item") + ", the last is [" +
               std::to_string(node.items.size() - 1) + "]");
  }
  return node.items[index];
}

}  // namespace

Document parse(std::string name, std::string_view text) { return parse(std::move(name), text, yaml_formats); }

Document parse(std::string name, std::string_view text, std::initializer_list<FileFormat> own) {
  Document document{.name = std::move(name)};
  if (std::optional<Node> compiled = compiled_tree(text)) {
    document.lines = lines_of(text);
    document.root = std::move(*compiled);
    return document;
  }
  if (may_be_foreign(text)) refuse_foreign(document.name, text, own);
  std::string written(text);
  if (written.starts_with('{')) indent_with_blanks(written);
  const std::string plain = plain_text(document.name, written);
  document.lines = lines_of(plain);
  const auto first = std::find_if(document.lines.begin(), document.lines.end(), [](const std::string& line) {
    const std::size_t content = line.find_first_not_of(" \t");
    return content != std::string::npos && line[content] != '#';
  });
  if (first != document.lines.end() && first->starts_with('%')) {
    reject(document, {static_cast<int>(first - document.lines.begin()) + 1, 1},
           "YAML directives ('%') are not supported", "start with the first key");
  }
  YamlResult result = read_yaml(document, plain);
  if (!result.errors.empty() || result.root.kind == Node::Kind::scalar)
    refuse_foreign(document.name, plain, own);
  if (result.errors.empty() && result.root.kind == Node::Kind::null) {
    reject(document, {}, "file is empty");
  }
  std::stable_sort(result.errors.begin(), result.errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  if (!result.is_whole) throw InputError(std::move(result.errors));
  document.root = std::move(result.root);
  document.errors = std::move(result.errors);
  return document;
}

Document load(const std::filesystem::path& file) {
  return parse(file.string(), read_file(file, largest_file));
}

void set(Document& document, std::string_view path, std::string_view text, std::string_view file,
         const Diagnostic* written_at) {
  std::string shown = without_controls(std::string(file) + std::string(path) + "=" + std::string(text));
  std::ranges::replace(shown, '\n', ' ');  // it is shown as one line
  document.overrides.push_back(
      {std::move(shown), written_at == nullptr ? std::nullopt : std::optional(*written_at)});
  const int before_path = count_characters(file);
  const Place place{static_cast<int>(document.overrides.size()), before_path + count_characters(path) + 1};
  const Mark start{1, before_path + 1, place.source};
  auto parsed = parse_path(path);
  if (const auto* error = std::get_if<PathError>(&parsed)) {
    reject(document, {1, before_path + count_characters(path.substr(0, error->offset)) + 1, place.source},
           error->message, "a path looks like links[0].bandwidth");
  }
  const auto& steps = std::get<std::vector<PathStep>>(parsed);
  if (steps.empty()) reject(document, start, "a key is missing", "a path looks like links[0].bandwidth");
  if (text.find('\n') != std::string_view::npos) reject(document, start, "the value must be one line");
  Node value = override_value(document, place, text);
  if (value.kind == Node::Kind::null) {
    reject(document, {1, place.columns + 1, place.source}, "the value is missing");
  }
  Node* node = &document.root;
  std::string reached;
  for (const PathStep& step : steps) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      node = &enter_key(document, *node, *key, reached, start);
      reached = join(reached, *key);
    } else {
      node = &enter_index(document, *node, std::get<std::size_t>(step), reached, start);
      reached = join(reached, std::get<std::size_t>(step));
    }
  }
  *node = std::move(value);
}

}  // namespace trainyard::config
