#pragma once
// Requirements on a file before it is read as YAML: UTF-8 text of a sensible size, without tabs for
// indentation.

#include <string>
#include <string_view>

namespace trainyard::config {

/// Largest file read, in bytes. Larger platforms are generated, not written.
constexpr std::size_t largest_file = std::size_t{4} << 20U;

/// `bytes` as text with '\n' line ends and without byte order mark. Throws InputError with all errors.
std::string plain_text(const std::string& name, std::string_view bytes);

}  // namespace trainyard::config
