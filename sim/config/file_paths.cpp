#include "config/file_paths.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"

namespace trainyard::config {

namespace fs = std::filesystem;

namespace {

/// The path from the root on; dots and links are left as they are.
fs::path from_root(const fs::path& path) { return path.is_absolute() ? path : current_folder() / path; }

}  // namespace

fs::path beside(const fs::path& named_in, const fs::path& path) {
  if (!path.is_relative()) return path;
  const auto is_missing = [](const fs::path& file) {
    std::error_code ignored;
    return fs::status(file, ignored).type() == fs::file_type::not_found;
  };
  fs::path found = named_in.parent_path() / path;
  return is_missing(found) && !is_missing(path) ? path : found;
}

fs::path current_folder() {
  std::error_code error;
  fs::path folder = fs::current_path(error);
  if (error) throw FileError("the current folder cannot be found: " + error.message());
  return folder;
}

fs::path absolute_path(const fs::path& path) { return from_root(path).lexically_normal(); }

fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(from_root(path), error);
  if (error) throw FileError("cannot find " + in_quotes(path.string()) + ": " + error.message());
  return found;
}

std::vector<fs::path> entries(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    found.push_back(entry->path());
  return found;
}

}  // namespace trainyard::config
