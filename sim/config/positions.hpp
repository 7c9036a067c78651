#pragma once
// From yaml-cpp's positions (from 0, in bytes) to ours (from 1, in characters).

#include "config/document.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

class Positions {
public:
  /// Both must outlive this; `lines` are those of `text`.
  Positions(const std::vector<std::string>& lines, std::string_view text) : lines_(lines), text_(text) {}

  /// The mark of byte `column` of `line`; end_of_text() after the last line.
  Mark at(int line, int column);
  /// After the last non-blank character.
  [[nodiscard]] Mark end_of_text() const;
  /// The '-' of an empty item, if only blanks separate it from byte `offset` of the text, which is in `line`.
  [[nodiscard]] std::optional<Mark> dash_before(int line, int offset) const;

private:
  const std::vector<std::string>& lines_;
  std::string_view text_;
  // Positions mostly move forward; counting from the last one keeps long lines linear.
  int counted_line_ = -1;
  std::size_t counted_bytes_ = 0;
  int counted_characters_ = 0;
};

}  // namespace trainyard::config
