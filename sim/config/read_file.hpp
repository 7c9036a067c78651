#pragma once
// The bytes of a file that a user named.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace trainyard::config {

/// What a regular file holds; of one larger than `largest` bytes the first largest + 1, enough to see that it
/// is too large. Throws FileError with the reason if it cannot be read.
std::string read_file(const std::filesystem::path& file, std::uintmax_t largest);

}  // namespace trainyard::config
