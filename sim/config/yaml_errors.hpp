#pragma once
// yaml-cpp's messages in our words, and errors it does not detect.

#include "config/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

struct SyntaxError {
  Mark mark;
  std::string message;
  std::string hint;
};

/// The meaning of yaml-cpp 0.7's `message` at `mark`. `bracket`: the place of the innermost open '[' or '{'.
SyntaxError explain(const std::string& message, Mark mark, const std::vector<std::string>& lines,
                    std::optional<Mark> bracket);

/// False if the scalar at text[at] starts with a quote without a partner: yaml-cpp accepts the end of the
/// file for one. Skips anchors and tags before the quote.
bool is_closed(std::string_view text, std::size_t at);

}  // namespace trainyard::config
