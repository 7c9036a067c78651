#include "config/positions.hpp"

#include "config/utf8.hpp"

#include <algorithm>

namespace trainyard::config {

Positions::Positions(std::string_view text) : text_(text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
    starts_.push_back(end + 1);
}

Mark Positions::at(std::size_t byte) {
  if (byte >= text_.size()) byte = text_.find_last_not_of(" \n") + 1;
  const auto next = std::ranges::upper_bound(starts_, byte);
  if (const std::size_t start = *(next - 1); start != start_) {
    start_ = byte_ = start;
    column_ = 1;
  }
  column_ += byte > byte_ ? count_characters(text_.substr(byte_, byte - byte_))
                          : -count_characters(text_.substr(byte, byte_ - byte));
  byte_ = byte;
  return {static_cast<int>(next - starts_.begin()), column_};
}

}  // namespace trainyard::config
