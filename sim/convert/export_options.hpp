#pragma once
// Options that the kinds of `trainyard export` share.

#include "cli/options.hpp"
#include "experiment/resolve.hpp"
#include "units/ids.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct ExportOptions {
  ExperimentOptions what;
  std::string out;
  LimitOptions limits;
  bool force = false;
};

/// Adds the experiment, -o and --force. `options` must live as long as the command.
void add_export_options(CLI::App& command, ExportOptions& options, const std::string& type,
                        const std::string& text);

void add_ranks_option(CLI::App& command, std::optional<std::string>& ranks);

/// Reads the experiment; prints its warnings.
ResolvedExperiment resolved_for_export(const ExportOptions& options);

/// "0,2-3", ascending, each once; otherwise all ranks that a result shows op by op. Throws
/// CLI::ValidationError.
std::vector<Rank> ranks_for_export(const std::optional<std::string>& text,
                                   const ResolvedExperiment& resolved);

}  // namespace trainyard
