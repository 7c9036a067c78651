#pragma once
// Options of commands that read published measurements.

#include "cli/options.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Adds CSV: files of published measurements.
void add_measurements_argument(CLI::App& command, std::vector<std::string>& files);

/// --machines and --runs: the rules for published rows.
void add_machines_option(CLI::App& command, std::string& machines);
void add_runs_option(CLI::App& command, std::string& runs);

}  // namespace trainyard
