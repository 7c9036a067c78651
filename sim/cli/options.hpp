#pragma once
// Options that several commands have, and the short form of declaring options with a value.

#include "cli/commands.hpp"
#include "cli/offers.hpp"
#include "cli/values.hpp"
#include "experiment/resolve.hpp"
#include "limits/run_limits.hpp"

#include <array>
#include <filesystem>
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

/// The keys that have an option of their own: --model, --platform, --gpu, --stack, --nodes, --gpus, --batch,
/// --global-batch, --precision, --optimizer. Empty where an option is not given.
struct KeyOptions {
  std::array<std::optional<std::string>, 10> values;
};

/// Adds these options. `several`: each may have several values, for a sweep.
void add_key_options(CLI::App& command, KeyOptions& options, bool several = false);

/// KEY=VALUE texts, and those of the options after them. Throws CLI::ValidationError if both set a key, to
/// different values.
std::vector<std::string> with_keys(std::vector<std::string> set, const KeyOptions& options);

/// The options that set these overrides on a command line, " "-separated: "--model vgg16 --set sync.k=4".
std::string as_options(const Overrides& overrides);

struct ExperimentOptions {
  std::string experiment;  ///< name or path; empty: the overrides say everything
  KeyOptions keys;
  std::vector<std::string> set;  ///< KEY=VALUE, in the order given
  std::optional<std::string> one_gpu;
};

/// Adds --one-gpu. `more`: text on a further effect in this command.
void add_one_gpu_option(CLI::App& command, std::optional<std::string>& one_gpu, const std::string& more = {});

/// --one-gpu as --set one_gpu=..., after the texts of --set. Throws CLI::ValidationError if both are given
/// with different values.
std::vector<std::string> with_one_gpu(std::vector<std::string> set,
                                      const std::optional<std::string>& one_gpu);

/// The overrides of all these options. Without an experiment, a batch that fits where none is set, which a
/// note on stderr tells. Throws CLI::ValidationError if neither an experiment nor a platform and a model are
/// named; `argument`: the command's word for the experiment.
Overrides overrides_of(const config::Catalogue& catalogue, const ExperimentOptions& options,
                       const std::string& argument = "EXPERIMENT");

/// The overrides with a batch that fits, where none is set and there is no experiment.
Overrides with_default_batch(const config::Catalogue& catalogue, const std::string& experiment,
                             Overrides overrides, const std::string& argument);

/// Adds EXPERIMENT, which may be left out, the options of keys, --set and --one-gpu. `options` must live as
/// long as the command. `of_values`: text on further values of --set.
void add_experiment_options(CLI::App& command, ExperimentOptions& options, const std::string& of_values = {});

/// A platform's file with the texts of --set, whose keys begin with "platform.", as for experiments. Prints
/// warnings. Throws CLI::ValidationError for another key.
Platform platform_with(const std::filesystem::path& file, const std::vector<std::string>& set);

/// --max-time and --max-memory, as given.
struct LimitOptions {
  std::optional<std::string> time;
  std::optional<std::string> memory;
};

/// Adds these options. `limited`: name of the work to which the limits apply.
void add_limit_options(CLI::App& command, LimitOptions& options, const std::string& limited = "the command");

/// The limits that these texts state. Throws CLI::ValidationError.
RunLimits limits_of(const LimitOptions& options);

/// The limits for a command that simulates nothing.
RunLimits only_listing(const LimitOptions& options);

/// Announces long work on stderr: the second argument of LimitsKept.
void announce_work(const std::string& note);

/// Adds --no-usage: the summary without the cost of the simulation.
void add_no_usage_option(CLI::App& command, bool& no_usage);

/// Throws CLI::ValidationError if --no-usage is given to a command that writes no summary.
void require_summary(bool no_usage, bool has_summary);

/// Adds -j, --jobs: the number of `work` ("simulations") that run in parallel.
void add_jobs_option(CLI::App& command, std::optional<std::string>& jobs, const std::string& work,
                     const std::string& more = {});

/// The number given; otherwise one per processor. Throws CLI::ValidationError.
int jobs_of(const std::optional<std::string>& jobs);

}  // namespace trainyard
