#pragma once
// Converts yaml-cpp's positions (bytes from the start of the text) to ours (line and character, from 1).

#include "config/document.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace trainyard::config {

class Positions {
public:
  /// The text, which is UTF-8, must outlive this.
  explicit Positions(std::string_view text);

  /// The mark of the character that begins at a byte; the end of the text has the mark after its last
  /// non-blank character. Takes time in proportion to the distance from the last call on the same line.
  [[nodiscard]] Mark at(std::size_t byte);

private:
  std::string_view text_;
  std::vector<std::size_t> starts_{0};  ///< of lines
  // The last answer.
  std::size_t start_ = 0;  ///< of its line
  std::size_t byte_ = 0;
  int column_ = 1;
};

}  // namespace trainyard::config
