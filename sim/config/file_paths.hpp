#pragma once
// What a path means and what a folder holds, with FileError where the file system cannot tell. The calls of
// std::filesystem that take no error_code throw an exception of their own, which would end the program as if
// it were a bug of ours: nothing in sim/ uses them (tests/config/file_paths_test.cpp).

#include <filesystem>
#include <system_error>
#include <vector>

namespace trainyard::config {

/// The file that `path` means in the file `named_in`: the one beside it, unless there is one in the current
/// folder only. What cannot be looked at counts as being there: reading it says why.
std::filesystem::path beside(const std::filesystem::path& named_in, const std::filesystem::path& path);

/// The folder that the program runs in. Throws FileError if it was removed meanwhile.
std::filesystem::path current_folder();

/// From the root on and without dots; links stay. Throws FileError.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// The same without links. Throws FileError.
std::filesystem::path real_path(const std::filesystem::path& path);

/// What a folder holds, in no order; what was read until `error`, if there is one.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder, std::error_code& error);

}  // namespace trainyard::config
