#include "jobs/shell_condition.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cctype>
#include <span>

namespace trainyard::jobs {
namespace {

/// "$1", "${2}", "$@".
bool is_argument(std::string_view word) {
  if (!word.starts_with('$')) return false;
  word.remove_prefix(1);
  if (word.starts_with('{') && word.ends_with('}')) word = word.substr(1, word.size() - 2);
  return word == "@" || word == "*" ||
         (!word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }));
}

std::optional<std::string> value_of(const std::string& word) {
  if (is_argument(word)) return std::string();
  if (word.find_first_of("$`") != std::string::npos) return std::nullopt;
  return word;
}

std::optional<bool> compared(const std::string& left, std::string_view sign, const std::string& right) {
  if (sign == "=" || sign == "==" || sign == "!=") {
    if (right.find_first_of("*?") != std::string::npos) return std::nullopt;
    return (left == right) == (sign != "!=");
  }
  const Parsed<long long> a = parse_integer(left), b = parse_integer(right);
  if (!a || !b) return std::nullopt;
  if (sign == "-eq") return *a == *b;
  if (sign == "-ne") return *a != *b;
  if (sign == "-lt") return *a < *b;
  if (sign == "-le") return *a <= *b;
  if (sign == "-gt") return *a > *b;
  if (sign == "-ge") return *a >= *b;
  return std::nullopt;
}

std::optional<bool> value_of(std::span<const std::string> words) {
  if (!words.empty() && words.front() == "!") {
    const std::optional<bool> rest = value_of(words.subspan(1));
    return rest ? std::optional(!*rest) : std::nullopt;
  }
  std::vector<std::optional<std::string>> values;
  for (const std::string& word : words) values.push_back(value_of(word));
  if (std::ranges::any_of(values, [](const auto& value) { return !value; })) return std::nullopt;
  if (values.size() == 1) return !values[0]->empty();
  if (values.size() == 2 && words[0] == "-z") return values[1]->empty();
  if (values.size() == 2 && words[0] == "-n") return !values[1]->empty();
  return values.size() == 3 ? compared(*values[0], words[1], *values[2]) : std::nullopt;
}

}  // namespace

std::optional<bool> condition_value(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  std::span<const std::string> inner = words;
  const std::string& first = words.front();
  if (words.size() == 1 && (first == "true" || first == "false")) return first == "true";
  if (first == "[" || first == "[[") {
    if (words.back() != (first == "[" ? "]" : "]]")) return std::nullopt;
    inner = inner.subspan(1, words.size() - 2);
  } else if (first == "test") {
    inner = inner.subspan(1);
  } else {
    return std::nullopt;
  }
  return value_of(inner);
}

std::optional<bool> pattern_fits(std::string_view pattern, std::string_view text) {
  if (pattern == "*") return true;
  if (is_argument(text)) text = {};
  if (text.find_first_of("$`") != std::string_view::npos ||
      pattern.find_first_of("$`?[") != std::string_view::npos)
    return std::nullopt;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  if (end.find('*') != std::string_view::npos) return std::nullopt;
  return text.size() >= begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end);
}

}  // namespace trainyard::jobs
