#include "cli/options.hpp"

#include "cli/file_kind.hpp"
#include "cli/terminal.hpp"
#include "experiment/keys_meant.hpp"
#include "platform/load.hpp"
#include "run/child_processes.hpp"
#include "run/default_batch.hpp"
#include "units/shell_word.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace trainyard {

void add_repeatable(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                    const std::string& type, const std::string& text) {
  command.add_option(name, values, text)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

namespace {

/// A key of experiments with an option of its own.
struct KeyOption {
  const char* option;
  const char* key;
  const char* type;
  const char* text;
};

constexpr std::array<KeyOption, std::tuple_size_v<decltype(KeyOptions::values)>> key_options{
    {{"--model", "model", "MODEL", "the model to train, with its own optimizer"},
     {"--platform", "platform", "PLATFORM", "the machine"},
     {"--gpu", "platform.node.gpus.profile", "GPU", "the GPUs of its nodes, such as \"NVIDIA L40S\""},
     {"--stack", "stack", "STACK",
      "the software (without an experiment: pytorch, on older GPUs pytorch_ddp)"},
     {"--nodes", "nodes", "N", "number of nodes"},
     {"--gpus", "gpus", "N", "total number of GPUs"},
     {"--batch", "batch_per_gpu", "N", "samples per GPU and micro-batch"},
     {"--global-batch", "global_batch", "N",
      "samples of an update, of all GPUs: the batch per GPU follows from it, or with --batch, and where GPUs "
      "share a model, the number of micro-batches"},
     {"--precision", "precision", "P", "number format: {}"},
     {"--optimizer", "optimizer", "O", "update rule: {}"}}};

std::string names_in(std::string_view key) {
  if (key == "precision") return names_of<Precision>();
  return key == "optimizer" ? names_of<Optimizer>() : std::string();
}

void offer_names_in(CLI::Option* option, std::string_view key) {
  if (key == "precision") offer_names_of<Precision>(option);
  if (key == "optimizer") offer_names_of<Optimizer>(option);
}

}  // namespace

void add_key_options(CLI::App& command, KeyOptions& options, bool several) {
  for (std::size_t i = 0; i < key_options.size(); ++i) {
    const KeyOption& one = key_options[i];
    const std::string type = several ? fmt::format("{},...", one.type) : one.type;
    std::string text = fmt::format(fmt::runtime(one.text), names_in(one.key));
    text += fmt::format("; short for --set {}={}", one.key, one.type);
    CLI::Option* const option = add_value(command, one.option, options.values[i], type, text);
    const bool is_of_files = std::string_view(one.type).size() > 1;
    if (several && is_of_files) offer(option, {one.type});  // as the type itself does
    offer_names_in(option, one.key);
  }
}

std::vector<std::string> with_keys(std::vector<std::string> set, const KeyOptions& options) {
  Overrides given = overrides_of(set);
  for (std::size_t i = 0; i < key_options.size(); ++i) {
    if (!options.values[i]) continue;
    const KeyOption& one = key_options[i];
    const auto other = std::ranges::find(given, one.key, &Overrides::value_type::first);
    if (other != given.end() && other->second == *options.values[i]) continue;
    if (other != given.end())
      throw CLI::ValidationError(
          one.option, fmt::format("{} and --set {}={} both set {}: give one of them", *options.values[i],
                                  one.key, other->second, one.key));
    given.emplace_back(one.key, *options.values[i]);
    set.push_back(fmt::format("{}={}", one.key, *options.values[i]));
  }
  return set;
}

std::string as_options(const Overrides& overrides) {
  std::string text;
  for (const auto& [key, value] : overrides) {
    const auto found = std::ranges::find(key_options, key, &KeyOption::key);
    text += text.empty() ? "" : " ";
    text += found == key_options.end() ? "--set " + shell_word(fmt::format("{}={}", key, value))
                                       : fmt::format("{} {}", found->option, shell_word(value));
  }
  return text;
}

namespace {

/// The largest batch that fits the job, whose totals are not replaced yet.
std::optional<DefaultBatch> batch_that_fits(const config::Catalogue& catalogue, Overrides overrides) {
  std::erase_if(overrides, [](const auto& entry) { return entry.first == global_batch_key; });
  InputFiles files;
  overrides = without_totals(catalogue, no_file, std::move(overrides), files);
  return default_batch(catalogue, overrides);
}

}  // namespace

Overrides with_default_batch(const config::Catalogue& catalogue, const std::string& experiment,
                             Overrides overrides, const std::string& argument) {
  if (experiment != no_file) return overrides;
  const auto sets = [&](std::string_view key) {
    return std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end();
  };
  const bool has_source = sets("model") || sets("trace") || sets("traces");
  if (!sets("platform") && !has_source)
    throw CLI::ValidationError(argument + " is required, or --platform and --model");
  if (!sets("platform"))
    throw CLI::ValidationError("--platform NAME is required without " + argument +
                               "; 'trainyard list platforms' shows them");
  if (!has_source)
    throw CLI::ValidationError("--model NAME is required without " + argument +
                               "; 'trainyard list models' shows them");
  const bool has_layout = std::ranges::any_of(overrides, [](const auto& entry) {
    return entry.first.substr(0, entry.first.find('.')) == "parallelism";
  });
  if (sets(global_batch_key) && !has_layout) return overrides;  // it says the batch
  if (const auto batch = sets("batch_per_gpu") ? std::nullopt : batch_of_trace(overrides)) {
    print_message(fmt::format("note: batch {} per GPU, as in the trace", *batch));
    overrides.emplace_back("batch_per_gpu", std::to_string(*batch));
  } else if (const auto chosen = batch_that_fits(catalogue, overrides)) {
    print_message(fmt::format(
        "note: batch {} per GPU{}; --batch sets it", chosen->samples,
        chosen->fits ? fmt::format(", the largest power of two up to {} that fits", most_default_batch)
                     : ""));
    overrides.emplace_back("batch_per_gpu", std::to_string(chosen->samples));
  }
  return overrides;
}

void add_experiment_options(CLI::App& command, ExperimentOptions& options, const std::string& of_values) {
  command.add_option(
      "EXPERIMENT", options.experiment,
      "name of a shipped experiment, or the path of a YAML file (default: --model and --platform)");
  add_key_options(command, options.keys);
  add_repeatable(command, "--set", options.set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: overrides a key of the experiment (nodes=4) or of a file it names "
                 "(platform.fabric.nic=\"25 Gbps\", stack.bucket_cap=\"50 MiB\"); none leaves a key out "
                 "('trainyard keys' prints them)" +
                     of_values);
  add_one_gpu_option(command, options.one_gpu);
}

void add_one_gpu_option(CLI::App& command, std::optional<std::string>& one_gpu, const std::string& more) {
  add_value(command, "--one-gpu", one_gpu, "RATE",
            "measured throughput of one GPU with this batch, such as \"803 samples/s\" or \"9.5e4 "
            "tokens/s\": all kernel times are scaled to it; short for --set one_gpu=RATE" +
                more);
}

std::vector<std::string> with_one_gpu(std::vector<std::string> set,
                                      const std::optional<std::string>& one_gpu) {
  if (!one_gpu) return set;
  for (const auto& [key, value] : overrides_of(set)) {
    if (key == "one_gpu" && value == *one_gpu) return set;
    if (key == "one_gpu")
      throw CLI::ValidationError("--one-gpu", "is short for --set one_gpu=RATE: give one of them");
  }
  set.push_back("one_gpu=" + *one_gpu);
  return set;
}

Overrides overrides_of(const config::Catalogue& catalogue, const ExperimentOptions& options,
                       const std::string& argument) {
  const std::vector<std::string> set = with_one_gpu(with_keys(options.set, options.keys), options.one_gpu);
  require_experiment_file(catalogue, options.experiment);
  return with_default_batch(catalogue, options.experiment, single_values(overrides_of(set)), argument);
}

Platform platform_with(const std::filesystem::path& file, const std::vector<std::string>& set) {
  config::Document document = config::load(file);
  constexpr std::string_view prefix = "platform.";
  for (const auto& [key, value] : single_values(overrides_of(set))) {
    if (!key.starts_with(prefix))
      throw CLI::ValidationError(
          "--set", "'" + key + "' is not a key of the platform; its keys begin with 'platform.'");
    config::set(document, key.substr(prefix.size()), value, prefix);
  }
  std::vector<Diagnostic> warnings;
  Platform platform = load_platform(document, &warnings);
  print_diagnostics(warnings);
  return platform;
}

void add_limit_options(CLI::App& command, LimitOptions& options, const std::string& limited) {
  add_value(command, "--max-time", options.time, "DURATION",
            "longest time of " + limited +
                ", such as 10s or 5min, after which it ends with exit code 4 (default: none)");
  add_value(command, "--max-memory", options.memory, "SIZE",
            "largest memory of a process of it, such as 4GB, likewise");
}

RunLimits limits_of(const LimitOptions& options) {
  return {.time = positive_quantity<Seconds>("--max-time", options.time.value_or("")),
          .memory = positive_quantity<Bytes>("--max-memory", options.memory.value_or(""))};
}

RunLimits only_listing(const LimitOptions& options) {
  RunLimits limits = limits_of(options);
  limits.simulates = false;
  return limits;
}

void announce_work(const std::string& note) { print_message(note); }

void add_no_usage_option(CLI::App& command, bool& no_usage) {
  command.add_flag(
      "--no-usage", no_usage,
      "with --out or --json: leave out the cost of the simulation on this computer (wall_s, cpu_s and "
      "peak_rss_bytes are null), so that equal runs give equal bytes");
}

void require_summary(bool no_usage, bool has_summary) {
  if (no_usage && !has_summary) throw CLI::ValidationError("--no-usage", "requires --out DIR or --json");
}

void add_jobs_option(CLI::App& command, std::optional<std::string>& jobs, const std::string& work,
                     const std::string& more) {
  add_value(command, "-j,--jobs", jobs, "N",
            fmt::format("number of parallel {} (default: one per processor){}", work, more));
}

int jobs_of(const std::optional<std::string>& jobs) {
  return jobs ? whole_number("--jobs", *jobs, 1, 4096) : processors();
}

}  // namespace trainyard
