#pragma once
// Looks up paths and lists folders, with FileError where the file system cannot tell. The calls of
// std::filesystem that take no error_code throw an exception of their own, which would end the program as if
// it were a bug of ours: nothing in sim/ uses them (tests/config/file_paths_test.cpp).

#include <filesystem>
#include <system_error>
#include <vector>

namespace trainyard::config {

/// The file that `path` means in the file `named_in`: the one in that file's folder, unless only the current
/// folder has one. A file that cannot be looked up counts as existing: reading it says why.
std::filesystem::path beside(const std::filesystem::path& named_in, const std::filesystem::path& path);

/// The folder that the program runs in. Throws FileError if it was removed meanwhile.
std::filesystem::path current_folder();

/// The path from the root on, without dots; links stay. Throws FileError.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// The absolute path with links resolved. Throws FileError.
std::filesystem::path real_path(const std::filesystem::path& path);

/// The entries of a folder, in no order; those read before `error`, if there is one.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder, std::error_code& error);

}  // namespace trainyard::config
