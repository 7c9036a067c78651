#pragma once
// Control characters in text of unknown origin: a terminal obeys them, so readers refuse them and messages
// show a question mark instead.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

struct ControlCharacter {
  std::size_t at = 0;    ///< offset in bytes
  std::size_t size = 1;  ///< in bytes
  int code = 0;          ///< Unicode
};

/// The first control character of a UTF-8 text at or after `from`: C0 except line breaks and tabs, DEL, or C1
/// (U+0080 to U+009F), which terminals obey as ESC and a letter.
std::optional<ControlCharacter> find_control(std::string_view text, std::size_t from = 0);

/// Whether all of `text` is printable ASCII, line feeds and tabs: valid UTF-8 without control characters, a
/// byte each. Reads eight bytes at a time.
bool is_plain_ascii(std::string_view text);

/// The text with a question mark for each of them.
std::string without_controls(std::string_view text);

}  // namespace trainyard
