#include "config/utf8.hpp"

#include <algorithm>

namespace trainyard::config {

namespace {

/// Bytes of the character that starts at text[at], or 0 if none does.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned lead = byte(0);
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0U : 0x80U;   // overlong
    const unsigned high = lead == 0xED ? 0x9FU : 0xBFU;  // surrogates
    return byte(1) >= low && byte(1) <= high && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90U : 0x80U;   // overlong
    const unsigned high = lead == 0xF4 ? 0x8FU : 0xBFU;  // beyond U+10FFFF
    return byte(1) >= low && byte(1) <= high && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::size_t skip_characters(std::string_view text, int count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues_character(text[at]) && count-- == 0) break;
  }
  return at;
}

}  // namespace

int count_characters(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char byte) { return !continues_character(byte); }));
}

std::string_view cut_characters(std::string_view text, int first, int count) {
  text.remove_prefix(skip_characters(text, first));
  return text.substr(0, skip_characters(text, count));
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

void replace_invalid_utf8(std::string& text) {
  for (std::size_t valid = 0;;) {
    const auto bad = find_invalid_utf8(std::string_view(text).substr(valid));
    if (!bad) return;
    valid += *bad;
    text[valid++] = '?';
  }
}

}  // namespace trainyard::config
