#include "jobs/shell_values.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cctype>

namespace trainyard::jobs {
namespace {

/// ":FROM" or ":FROM:LENGTH".
std::optional<std::string> part_of(std::string_view value, std::string_view form) {
  form.remove_prefix(1);
  const std::size_t colon = std::min(form.find(':'), form.size());
  const std::string_view from = form.substr(0, colon);
  const std::string_view length = colon < form.size() ? form.substr(colon + 1) : std::string_view("999999");
  if (!is_digits(from) || !is_digits(length) || from.size() > 6 || length.size() > 6) return std::nullopt;
  const auto begin = std::min(static_cast<std::size_t>(*parse_integer(from)), value.size());
  return std::string(value.substr(begin, static_cast<std::size_t>(*parse_integer(length))));
}

/// The place where a pattern's text is cut off, at its first or last occurrence.
std::string without(std::string_view value, std::string_view text, bool is_end, bool is_first) {
  const std::size_t at = is_first ? value.find(text) : value.rfind(text);
  if (at == std::string_view::npos) return std::string(value);
  return std::string(is_end ? value.substr(0, at) : value.substr(at + text.size()));
}

}  // namespace

/// A sum of products of integers, as $((GPUS * NODES)). Nothing if it is anything else.
std::optional<long long> integer_value(std::string_view text) {
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '$')) ++at;
  };
  const auto number = [&]() -> std::optional<long long> {
    skip();
    const std::size_t begin = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
    if (at == begin || at - begin > 15) return std::nullopt;
    return parse_integer(text.substr(begin, at - begin)).value();
  };
  const auto product = [&]() -> std::optional<long long> {
    std::optional<long long> value = number();
    for (skip(); value && at < text.size() && (text[at] == '*' || text[at] == '/'); skip()) {
      const char sign = text[at++];
      const std::optional<long long> next = number();
      if (!next || (sign == '/' && *next == 0)) return std::nullopt;
      if (sign == '*' && *next != 0 && *value > 1'000'000'000'000'000 / *next) return std::nullopt;
      value = sign == '*' ? *value * *next : *value / *next;
    }
    return value;
  };
  std::optional<long long> sum = product();
  for (skip(); sum && at < text.size() && (text[at] == '+' || text[at] == '-'); skip()) {
    const char sign = text[at++];
    const std::optional<long long> next = product();
    if (!next) return std::nullopt;
    sum = sign == '+' ? *sum + *next : *sum - *next;
  }
  return at == text.size() ? sum : std::nullopt;
}

std::optional<std::string> changed_value(std::string_view value, std::string_view form) {
  if (form.starts_with(':')) return part_of(value, form);
  if (form.empty() || (form.front() != '%' && form.front() != '#')) return std::nullopt;
  const bool is_end = form.front() == '%';
  const bool is_longest = form.size() > 1 && form[1] == form[0];
  std::string_view pattern = form.substr(is_longest ? 2 : 1);
  const bool has_star = is_end ? pattern.ends_with('*') : pattern.starts_with('*');
  if (has_star) pattern = is_end ? pattern.substr(0, pattern.size() - 1) : pattern.substr(1);
  if (pattern.empty() || pattern.find_first_of("*?[$`\\'\"") != std::string_view::npos) return std::nullopt;
  if (has_star) return without(value, pattern, is_end, is_end == is_longest);
  if (is_end && value.ends_with(pattern)) value.remove_suffix(pattern.size());
  if (!is_end && value.starts_with(pattern)) value.remove_prefix(pattern.size());
  return std::string(value);
}

}  // namespace trainyard::jobs
