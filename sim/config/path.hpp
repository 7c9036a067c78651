#pragma once
// Parses key paths such as "links[0].bandwidth".

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard::config {

/// A key of a mapping or an index into a list.
using PathStep = std::variant<std::string, std::size_t>;

struct PathError {
  std::size_t offset;  ///< in bytes
  std::string message;
};

/// The steps of a path; an empty path has none. Keys with special characters are written ["like this"].
std::variant<std::vector<PathStep>, PathError> parse_path(std::string_view path);

}  // namespace trainyard::config
