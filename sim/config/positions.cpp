#include "config/positions.hpp"

#include "config/utf8.hpp"

#include <algorithm>

namespace trainyard::config {

Mark Positions::at(int line, int column) {
  if (line < 0 || line >= static_cast<int>(lines_.size())) return end_of_text();
  const std::string_view text = lines_[static_cast<std::size_t>(line)];
  const std::size_t bytes = std::min(static_cast<std::size_t>(std::max(column, 0)), text.size());
  if (line != counted_line_ || bytes < counted_bytes_) {
    counted_line_ = line;
    counted_bytes_ = 0;
    counted_characters_ = 0;
  }
  counted_characters_ += count_characters(text.substr(counted_bytes_, bytes - counted_bytes_));
  counted_bytes_ = bytes;
  return {line + 1, counted_characters_ + 1};
}

Mark Positions::end_of_text() const {
  for (std::size_t i = lines_.size(); i-- > 0;) {
    const std::string_view line = lines_[i];
    const std::size_t last = line.find_last_not_of(' ');
    if (last == std::string_view::npos) continue;
    return {static_cast<int>(i) + 1, count_characters(line.substr(0, last + 1)) + 1};
  }
  return {};
}

std::optional<Mark> Positions::dash_before(int line, int offset) const {
  if (offset <= 0 || static_cast<std::size_t>(offset) > text_.size()) return std::nullopt;
  const std::string_view before = text_.substr(0, static_cast<std::size_t>(offset));
  const std::size_t dash = before.find_last_not_of(" \n");
  if (dash == std::string_view::npos || before[dash] != '-') return std::nullopt;
  const auto lines = std::ranges::count(before.substr(dash), '\n');
  const std::size_t line_start = before.rfind('\n', dash) + 1;  // npos + 1 is 0
  return Mark{line + 1 - static_cast<int>(lines),
              count_characters(before.substr(line_start, dash - line_start)) + 1};
}

}  // namespace trainyard::config
