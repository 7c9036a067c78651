#pragma once
// Options of commands that read published measurements.

#include "cli/options.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Adds CSV: files of published measurements.
inline void add_measurements_argument(CLI::App& command, std::vector<std::string>& files) {
  command.add_option(
      "CSV", files,
      "measurements with the columns of workloads/published/README.md (default: the shipped ones)");
}

/// --machines and --runs: the rules for published rows.
inline void add_machines_option(CLI::App& command, std::string& machines) {
  add_value(command, "--machines", machines, "MACHINES",
            "rules that assign a platform to each published measurement: a name in "
            "workloads/published/machines or a path");
}

inline void add_runs_option(CLI::App& command, std::string& runs) {
  add_value(command, "--runs", runs, "RUNS",
            "rules that assign a model and software to each published run: a name in "
            "workloads/published/runs or a path");
}

}  // namespace trainyard
