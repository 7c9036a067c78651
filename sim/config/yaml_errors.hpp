#pragma once
// yaml-cpp's errors in our words and at the place where the mistake begins, and mistakes that it accepts
// although YAML does not.

#include "config/document.hpp"
#include "config/positions.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard::config {

inline constexpr std::string_view missing_colon = "':' is missing after this key";
inline constexpr std::string_view unclosed_quote = "this quote is never closed";
inline constexpr std::string_view does_not_fit = "this does not fit what stands before it";
inline constexpr std::string_view what_to_check = "check the indentation, quotes and brackets";

struct SyntaxError {
  Mark mark;
  std::string message;
  std::string hint;
};

/// Offsets in a text that are known when reading fails.
struct FailedAt {
  std::string_view text;
  std::size_t at = 0;    ///< where yaml-cpp failed
  std::size_t read = 0;  ///< where the last value or key that it delivered begins
  std::size_t flow = 0;  ///< where the innermost mapping or list in brackets begins
  int column = 0;        ///< of the keys of the innermost mapping, if it has no brackets
};

/// The meaning of the message of yaml-cpp 0.7.
SyntaxError explain(std::string_view message, const FailedAt& failed, Positions& positions);

/// Where the line begins that starts with '%'; the end of the text if none does.
std::size_t start_of_directive(std::string_view text);

/// The opening quote of a value that begins at `at`, with an anchor or without, if no quote closes it:
/// yaml-cpp ends such a value with the text. npos of any other value.
std::size_t unclosed_at(std::string_view text, std::size_t at);

/// Where an item of a block list begins that is nothing, of which yaml-cpp reports the next token at `at`: at
/// its dash. `at` itself if the item is a text that means nothing.
std::size_t item_start(std::string_view text, std::size_t at);

/// A text in UTF-8: yaml-cpp decodes the escapes "\N" and "\_" to single bytes.
std::string mended_escapes(std::string_view scalar);

}  // namespace trainyard::config
