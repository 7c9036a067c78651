#pragma once
// From libyaml's positions (characters from the start of the text) to ours (line and character, from 1).

#include "config/document.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace trainyard::config {

class Positions {
public:
  /// The text, which is UTF-8, must outlive this.
  explicit Positions(std::string_view text);

  /// The mark of a character, from 0; for the end of the text that behind its last non-blank character.
  [[nodiscard]] Mark at(std::size_t character) const;
  /// The mark of the character that begins at a byte of the text.
  [[nodiscard]] Mark at_byte(std::size_t byte) const;

private:
  /// Where a line begins.
  struct Start {
    std::size_t byte = 0;
    std::size_t character = 0;
  };

  std::string_view text_;
  std::vector<Start> starts_{{}};
  std::size_t characters_ = 0;
};

}  // namespace trainyard::config
