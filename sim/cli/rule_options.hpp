#pragma once
// --machines and --runs: the rules for published rows, the same for every command that reads such rows.

#include <CLI/App.hpp>
#include <string>

namespace trainyard {

void add_machines_option(CLI::App& command, std::string& machines);
void add_runs_option(CLI::App& command, std::string& runs);

}  // namespace trainyard
