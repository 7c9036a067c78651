#include "units/spreadsheet_text.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cstddef>

namespace trainyard {
namespace {

/// Apostrophes, if any, before a character with which a formula begins.
bool may_be_formula(std::string_view part) {
  const std::size_t first = std::min(part.find_first_not_of('\''), part.size());
  return first < part.size() && std::string_view("=+-@\t\r").find(part[first]) != std::string_view::npos;
}

/// `change` appends a part to the text.
template <class Change>
std::string by_part(std::string_view text, Change change) {
  std::string result;
  for (;;) {
    const std::size_t end = std::min(text.find_first_of(",;"), text.size());
    change(text.substr(0, end), result);
    if (end == text.size()) return result;
    result += text[end];
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string with_apostrophes(std::string_view text) {
  if (text.find_first_of("=+-@\t\r") == std::string_view::npos) return std::string(text);
  return by_part(text, [](std::string_view part, std::string& result) {
    if (may_be_formula(part) && !parse_number(part)) result += '\'';
    result += part;
  });
}

std::string without_apostrophes(std::string_view guarded) {
  if (guarded.find('\'') == std::string_view::npos) return std::string(guarded);
  return by_part(guarded, [](std::string_view part, std::string& result) {
    if (part.starts_with('\'') && may_be_formula(part)) part.remove_prefix(1);
    result += part;
  });
}

}  // namespace trainyard
