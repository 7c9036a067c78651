#pragma once
// Values that replace keys: of the experiment (--set KEY=VALUE), or of a file that it names (its key `set` as
// well).

#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "experiment/experiment.hpp"
#include "experiment/input_files.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// --set KEY=VALUE, in the order given.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// The kind of file that an override's path names ("platform", "gpu", "processor", "model", "stack"), empty
/// for the experiment's own keys.
std::string_view file_named_by(std::string_view path);

/// An override for a key of a file that the experiment names, and the place where it was written.
struct FileOverride {
  std::string value;
  std::optional<Diagnostic> written_at;  ///< none: on the command line
};
using FileOverrides = std::map<std::string, FileOverride>;

/// The overrides of the experiment's key `set` and of the command line, which takes precedence.
FileOverrides file_overrides(const config::Document& document, const Experiment& experiment,
                             const Overrides& command_line);

/// The file at `path`, with the overrides for this kind of file. Throws InputError or FileError.
config::Document load_with(InputFiles& files, const std::filesystem::path& path, std::string_view kind,
                           const FileOverrides& overrides);

/// A key that distinguishes readings of a file.
std::string reading_of(const std::filesystem::path& path, std::string_view kind,
                       const FileOverrides& overrides);

}  // namespace trainyard
