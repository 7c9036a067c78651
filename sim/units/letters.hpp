#pragma once
// Letters of ASCII, whatever the locale.

namespace trainyard {

/// The small letter for a capital; other characters as they are.
constexpr char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace trainyard
