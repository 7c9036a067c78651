#pragma once
// The UTF-8 functions for diagnostics: columns are counted in characters, not bytes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::config {

/// True for the second and later bytes of a character.
constexpr bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Characters in valid UTF-8 text.
int count_characters(std::string_view text);

/// The part of `text` that starts at character `first` (from 0) and has at most `count` characters.
std::string_view cut_characters(std::string_view text, int first, int count);

/// Offset of the first byte that is not UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates).
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Puts a question mark in place of each byte that is not UTF-8, in a time proportional to the text.
void replace_invalid_utf8(std::string& text);

}  // namespace trainyard::config
