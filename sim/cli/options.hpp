#pragma once
// Options that several commands have, and the short form of declaring options with a value.

#include "cli/commands.hpp"
#include "cli/offers.hpp"
#include "cli/values.hpp"
#include "experiment/resolve.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace trainyard {

/// Adds an option whose value has the form `type`; help shows the default, if there is one.
template <class Value>
CLI::Option* add_value(CLI::App& command, const std::string& name, Value& value, const std::string& type,
                       const std::string& text) {
  CLI::Option* const option = command.add_option(name, value, text)->type_name(type);
  if constexpr (std::is_same_v<Value, std::string>) option->capture_default_str();
  return option;
}

/// Adds an option whose value is a name of the enum. `text` has {} where help lists the names.
template <class E, class Value>
void add_choice(CLI::App& command, const std::string& name, Value& value, const std::string& type,
                const std::string& text) {
  offer_names_of<E>(add_value(command, name, value, type, fmt::format(fmt::runtime(text), names_of<E>())));
}

/// Adds an option that may be repeated, each time with one text of the form `type`.
void add_repeatable(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                    const std::string& type, const std::string& text);

struct ExperimentOptions {
  std::string experiment;        ///< name or path
  std::vector<std::string> set;  ///< KEY=VALUE, in the order given
  std::optional<std::string> one_gpu;
};

/// Adds --one-gpu. `more`: what a command does in addition.
void add_one_gpu_option(CLI::App& command, std::optional<std::string>& one_gpu, const std::string& more = {});

/// --one-gpu as --set one_gpu=..., after the texts of --set. Throws CLI::ValidationError if both are given.
std::vector<std::string> with_one_gpu(std::vector<std::string> set,
                                      const std::optional<std::string>& one_gpu);

/// The overrides of both options.
Overrides overrides_of(const ExperimentOptions& options);

/// Adds EXPERIMENT, --set and --one-gpu. `options` must live as long as the command.
void add_experiment_options(CLI::App& command, ExperimentOptions& options);

/// Adds -j, --jobs: the number of `what` ("simulations") that run in parallel.
void add_jobs_option(CLI::App& command, std::optional<std::string>& jobs, const std::string& what,
                     const std::string& more = {});

/// The number given; otherwise one per processor. Throws CLI::ValidationError.
int jobs_of(const std::optional<std::string>& jobs);

/// Adds CSV: files of published measurements.
void add_measurements_argument(CLI::App& command, std::vector<std::string>& files);

/// --machines and --runs: the rules for published rows.
void add_machines_option(CLI::App& command, std::string& machines);
void add_runs_option(CLI::App& command, std::string& runs);

}  // namespace trainyard
