#pragma once
// The bytes of a file named by a user.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace trainyard::config {

/// The contents of a regular file; if it has more than `largest` bytes, the first largest + 1, enough to
/// detect that. Throws FileError with the reason if it cannot be read.
std::string read_file(const std::filesystem::path& file, std::uintmax_t largest);

}  // namespace trainyard::config
