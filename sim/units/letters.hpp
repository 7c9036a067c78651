#pragma once
// Letters of ASCII, whatever the locale.

#include <string>
#include <string_view>

namespace trainyard {

/// The small letter for a capital; other characters as they are.
constexpr char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The text with A-Z as a-z, for comparisons.
inline std::string small_letters(std::string_view text) {
  std::string small;
  for (const char c : text) small += small_letter(c);
  return small;
}

}  // namespace trainyard
