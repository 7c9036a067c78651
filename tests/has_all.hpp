#pragma once
// Checks a sentence by its content: numbers, names and keys, but not its wording.

#include <string>
#include <string_view>

namespace trainyard {

/// Whether the text contains these parts in this order.
template <class... Parts>
bool has_all(std::string_view text, const Parts&... parts) {
  std::size_t at = 0;
  const auto has_next = [&](std::string_view part) {
    at = text.find(part, at);
    if (at == std::string_view::npos) return false;
    at += part.size();
    return true;
  };
  return (has_next(parts) && ...);
}

}  // namespace trainyard
