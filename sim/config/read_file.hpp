#pragma once
// The bytes of a file named by a user.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace trainyard::config {

/// The contents of a regular file; if it has more than `largest` bytes, the first largest + 1, enough to
/// detect that. Throws FileError with the reason if it cannot be read.
std::string read_file(const std::filesystem::path& file, std::uintmax_t largest);

/// Calls `take` with the contents of a regular file in pieces of at most 1 MiB. Throws FileError if it cannot
/// be read or has more than `largest` bytes.
void read_in_pieces(const std::filesystem::path& file, std::uintmax_t largest,
                    const std::function<void(std::string_view)>& take);

}  // namespace trainyard::config
