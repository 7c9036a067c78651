#pragma once
// Arguments that are an experiment or a saved run: the folder that `run --out` wrote.

#include "config/catalogue.hpp"
#include "run/run_summary.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// The summary.json that an argument means; nothing if it is an experiment. The name of a shipped experiment
/// is that, even where a folder is called the same. Throws FileError for a folder without one.
std::optional<std::filesystem::path> summary_file(const config::Catalogue& catalogue,
                                                  const std::string& text);

/// Reads it. Throws FileError or InputError.
RunSummary read_run(const std::filesystem::path& file);

}  // namespace trainyard
