#pragma once
// Writing reports to disk, all or nothing: whatever goes wrong on the way (a full disk, a missing permission,
// Ctrl-C), either everything is there under its final name or nothing is, and nothing of the user's is ever
// lost.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace trainyard {

/// Writes the files (name -> content) as the folder `dir`. They are written into a sibling
/// (DIR.partial-PID) that is renamed when all are complete. Folders above `dir` are made if they are missing.
/// An existing `dir` that holds something is an error without `force`. With it, `dir` is replaced if it holds
/// nothing but regular files of these names: a folder with anything else in it was not written by trainyard
/// and stays as it is. SIGINT and SIGTERM wait until it is clear which of the two it will be. Throws
/// FileError after removing what it has written.
void write_out_dir(const std::filesystem::path& dir, const std::map<std::string, std::string>& files,
                   bool force);

/// Throws what write_out_dir would throw about `dir` before writing: for asking before a long simulation.
void check_out_dir(const std::filesystem::path& dir, const std::map<std::string, std::string>& files,
                   bool force);

/// Writes one file, in the same way. What is not a regular file (/dev/stdout, a pipe) is written to directly,
/// and signals arrive meanwhile.
void write_out_file(const std::filesystem::path& file, std::string_view text, bool force);

/// Throws what write_out_file would throw before writing.
void check_out_file(const std::filesystem::path& file, bool force);

}  // namespace trainyard
