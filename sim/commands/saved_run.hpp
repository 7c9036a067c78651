#pragma once
// Arguments that are an experiment or a saved run: the folder that `run --out` wrote.

#include "config/catalogue.hpp"
#include "run/run_summary.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// Help of such an argument.
inline constexpr const char* run_argument_text =
    "an experiment (a shipped name or a YAML file), or a saved run: the folder that run --out wrote, or its "
    "summary.json. Write ./NAME if a folder has a shipped experiment's name";

/// The summary.json to which an argument refers; nothing if it is an experiment. The name of a shipped
/// experiment takes precedence over a folder of that name. Throws FileError for a folder without one.
std::optional<std::filesystem::path> summary_file(const config::Catalogue& catalogue,
                                                  const std::string& text);

/// Reads it. Throws FileError or InputError.
RunSummary read_run(const std::filesystem::path& file);

}  // namespace trainyard
