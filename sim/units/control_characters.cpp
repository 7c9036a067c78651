#include "units/control_characters.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace trainyard {

std::optional<ControlCharacter> find_control(std::string_view text, std::size_t from) {
  for (std::size_t i = from; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) return ControlCharacter{i, 1, byte};
    if (byte != 0xC2 || i + 1 == text.size()) continue;  // U+0080 to U+00BF begin with this byte
    const auto next = static_cast<unsigned char>(text[i + 1]);
    if (next >= 0x80 && next < 0xA0) return ControlCharacter{i, 2, next};
  }
  return std::nullopt;
}

bool is_plain_ascii(std::string_view text) {
  constexpr std::uint64_t each = 0x0101010101010101;
  const auto is_plain = [](char byte) {
    return (byte >= ' ' && byte < 0x7F) || byte == '\n' || byte == '\t';
  };
  for (std::uint64_t word = 0; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    // The highest bit of a byte is set by ASCII below a blank, in the first sum by DEL, in `word` itself by
    // other characters.
    const std::uint64_t other = ((word - ' ' * each) | (word + each) | word) & 0x80 * each;
    if (other != 0 && !std::ranges::all_of(text.substr(0, sizeof word), is_plain)) return false;
  }
  return std::ranges::all_of(text, is_plain);
}

std::string without_controls(std::string_view text) {
  std::string result;
  std::size_t at = 0;
  for (auto found = find_control(text); found; found = find_control(text, at)) {
    result.append(text.substr(at, found->at - at)).append(1, '?');
    at = found->at + found->size;
  }
  return result.append(text.substr(at));
}

}  // namespace trainyard
