#include "config/positions.hpp"

#include "config/utf8.hpp"

#include <algorithm>

namespace trainyard::config {

Positions::Positions(std::string_view text) : text_(text) {
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    if (!continues_character(text[byte])) ++characters_;
    if (text[byte] == '\n') starts_.push_back({byte + 1, characters_});
  }
}

Mark Positions::at(std::size_t character) const {
  if (character >= characters_) {
    const std::size_t last = text_.find_last_not_of(" \n");
    return last == std::string_view::npos ? Mark{} : at_byte(last + 1);
  }
  const auto next = std::ranges::upper_bound(starts_, character, {}, &Start::character);
  const Start& start = *(next - 1);
  return {static_cast<int>(next - starts_.begin()), static_cast<int>(character - start.character) + 1};
}

Mark Positions::at_byte(std::size_t byte) const {
  const auto next = std::ranges::upper_bound(starts_, byte, {}, &Start::byte);
  const Start& start = *(next - 1);
  return {static_cast<int>(next - starts_.begin()),
          count_characters(text_.substr(start.byte, byte - start.byte)) + 1};
}

}  // namespace trainyard::config
