#pragma once
// Reads names such as "node3.gpu2" from the front.

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace trainyard {

/// Takes `prefix` and the whole number behind it off the front of `text`. Empty, and `text` unchanged, if it
/// does not start like that.
inline std::optional<int> take_number(std::string_view& text, std::string_view prefix = {}) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int number = -1;
  const auto [rest, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
  if (error != std::errc{} || text[prefix.size()] == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

}  // namespace trainyard
