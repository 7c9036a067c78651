#pragma once
// The arguments of every command that works on an experiment: its name, and overrides.

#include "cli/commands.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct ExperimentOptions {
  std::string experiment;        ///< name or path
  std::vector<std::string> set;  ///< KEY=VALUE, in the order given
};

/// Adds --set, which may be repeated, each time with one text of the form `type`.
void add_set_option(CLI::App& command, std::vector<std::string>& set, const std::string& text,
                    const std::string& type = "KEY=VALUE");

/// Adds EXPERIMENT and --set to a command. `options` must live as long as the command.
void add_experiment_options(CLI::App& command, ExperimentOptions& options);

}  // namespace trainyard
