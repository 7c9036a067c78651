#include "units/control_characters.hpp"

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
