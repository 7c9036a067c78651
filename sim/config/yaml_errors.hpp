#pragma once
// libyaml's messages in our words.

#include "config/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

struct SyntaxError {
  Mark mark;
  std::string message;
  std::string hint;
};

/// The meaning of libyaml 0.2's `message` at `mark`, found in what began at `begun`.
SyntaxError explain(std::string_view message, Mark mark, Mark begun, const std::vector<std::string>& lines);

}  // namespace trainyard::config
