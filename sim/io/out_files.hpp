#pragma once
// Writes reports to disk, all or nothing: whatever goes wrong (a full disk, a missing permission, Ctrl-C),
// either everything is there under its final name or nothing is, and no file of the user's is ever lost.

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

/// Writes the files (name -> content) as the folder `dir`. They are written into a sibling (DIR.partial-PID)
/// that is renamed when all are complete. Missing folders above `dir` are created. A non-empty `dir` is an
/// error without `force`. With it, `dir` is replaced if it holds only regular files of the names `own`: a
/// folder with any other content was not written by trainyard and remains unchanged. SIGINT and SIGTERM wait
/// until the result is decided. Throws FileError after removing the written files.
void write_out_dir(const std::filesystem::path& dir, const std::map<std::string, std::string>& files,
                   const std::set<std::string>& own, bool force);

/// Throws the errors of write_out_dir about `dir` before writing: for a check before a long simulation.
void check_out_dir(const std::filesystem::path& dir, const std::set<std::string>& own, bool force);

/// Writes one file, in the same way. Other things than regular files (/dev/stdout, a pipe) are written to
/// directly, and signals are not delayed.
void write_out_file(const std::filesystem::path& file, std::string_view text, bool force);

/// Removes what writes of these files that were killed left in a folder (FILE.partial-PID), as far as it can.
/// Only for a folder that no other process writes to.
void remove_unfinished(const std::filesystem::path& dir, std::span<const char* const> files);

/// Throws the errors that write_out_file throws before writing.
void check_out_file(const std::filesystem::path& file, bool force);

}  // namespace trainyard
