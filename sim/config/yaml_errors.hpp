#pragma once
// yaml-cpp's messages in our words, and mistakes it does not see.

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

/// What yaml-cpp 0.7's `message` at `mark` means. `bracket` is where the innermost open '[' or '{' stands.
SyntaxError explain(const std::string& message, Mark mark, const std::vector<std::string>& lines,
                    std::optional<Mark> bracket);

/// False if the scalar at text[at] starts with a quote that has no partner: yaml-cpp takes the end of the
/// file for one. Anchors and tags in front of the quote are skipped.
bool is_closed(std::string_view text, std::size_t at);

}  // namespace trainyard::config
