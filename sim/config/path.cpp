#include "config/path.hpp"

#include "config/document.hpp"
#include "config/yaml.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace trainyard::config {

namespace {

constexpr std::string_view special = ".[]\"\\= ";

/// Reads ["key"] or [3] at path[at], which is '['; moves `at` past it.
std::variant<PathStep, PathError> parse_bracket(std::string_view path, std::size_t& at) {
  const std::size_t start = at++;
  if (at < path.size() && path[at] == '"') {
    std::string key;
    for (++at; at < path.size() && path[at] != '"'; ++at) {
      if (path[at] == '\\' && at + 1 < path.size()) ++at;
      key += path[at];
    }
    if (path.substr(at, 2) != "\"]") return PathError{start, "'[\"' is never closed"};
    at += 2;
    return key;
  }
  std::size_t index = 0;
  const char* first = path.data() + at;
  const auto [end, error] = std::from_chars(first, path.data() + path.size(), index);
  at += static_cast<std::size_t>(end - first);
  if (error != std::errc{} || at >= path.size() || path[at] != ']') {
    return PathError{start, "'[' takes an index: [0]"};
  }
  ++at;
  return index;
}

}  // namespace

std::variant<std::vector<PathStep>, PathError> parse_path(std::string_view path) {
  std::vector<PathStep> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    // No file has such a key, and functions that walk down a path may recurse at each step.
    if (steps.size() > static_cast<std::size_t>(deepest_nesting))
      return PathError{at, fmt::format("a key deeper than {} levels", deepest_nesting)};
    if (path[at] == '[') {
      auto step = parse_bracket(path, at);
      if (auto* error = std::get_if<PathError>(&step)) return std::move(*error);
      steps.push_back(std::get<PathStep>(std::move(step)));
      continue;
    }
    if (!steps.empty()) {
      if (path[at] != '.') return PathError{at, "expected '.' or '['"};
      ++at;
    }
    const std::size_t end = std::min(path.find_first_of(special, at), path.size());
    if (end == at) return PathError{at, "a key is missing"};
    steps.emplace_back(std::string(path.substr(at, end - at)));
    at = end;
  }
  return steps;
}

std::string join(std::string_view path, std::string_view key) {
  std::string result(path);
  if (!key.empty() && key.find_first_of(special) == std::string_view::npos) {
    if (!result.empty()) result += '.';
    return result.append(key);
  }
  result += "[\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"]";
}

std::string join(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace trainyard::config
