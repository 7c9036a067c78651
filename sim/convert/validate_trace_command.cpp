#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/other_commands.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/diagnostic.hpp"
#include "convert/commands.hpp"
#include "convert/kineto_input.hpp"
#include "convert/platform_of_gpu.hpp"
#include "convert/profile_output.hpp"
#include "convert/trace_validation.hpp"
#include "document/json_text.hpp"
#include "experiment/resolve.hpp"
#include "imports/checked_trace.hpp"
#include "imports/predictable_trace.hpp"
#include "imports/profile_groups.hpp"
#include "interchange/input_text.hpp"
#include "io/out_files.hpp"
#include "platform/load.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "units/text_layout.hpp"
#include "units/trimmed.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct ValidateTraceOptions {
  KinetoInput input;
  KeyOptions keys;
  std::vector<std::string> set;
  std::string ops = "10";
  std::vector<std::string> fail_above;
  std::optional<std::string> csv;
  LimitOptions limits;
  PageOptions page{.html = {}, .has_other_files = true};
};

/// The largest error of each simulated step that is no failure, as a ratio: "replay", "predicted", "model".
using StepLimits = std::map<std::string, double>;

constexpr const char* fail_above_step = "--fail-above";

StepLimits step_limits(const std::vector<std::string>& texts) {
  StepLimits limits;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name(equals == std::string::npos ? "replay" : trimmed(text.substr(0, equals)));
    std::string number(trimmed(equals == std::string::npos ? text : text.substr(equals + 1)));
    if (number.ends_with('%')) number.pop_back();
    if (name != "replay" && name != "predicted" && name != "model")
      throw CLI::ValidationError(fail_above_step,
                                 fmt::format("'{}' has no limit: replay, predicted, model", name));
    if (!limits.emplace(name, percentage(fail_above_step, std::string(trimmed(number)))).second)
      throw CLI::ValidationError(fail_above_step, fmt::format("limits {} twice", name));
  }
  return limits;
}

/// The value of a key; nothing if it is not set.
std::optional<std::string> set_value(const Overrides& overrides, std::string_view key) {
  const auto found = std::ranges::find(overrides, key, &Overrides::value_type::first);
  return found == overrides.end() ? std::nullopt : std::optional(found->second);
}

/// The ranks whose collectives are in the trace, as the profile says it; 1 if it has none.
int ranks_of_profile(const Profile& profile, const ImportedTrace& imported) {
  if (imported.collectives == 0) return 1;
  const int ranks = ranks_of(profile);
  constexpr int most = 1'000'000;
  if (ranks >= 1 && ranks <= most) return ranks;
  if (ranks != 0)
    throw CLI::ValidationError("--gpus", fmt::format("is missing: the profile says {} ranks", ranks));
  throw CLI::ValidationError("--gpus", "is missing: the profile has collectives and does not say its ranks");
}

/// A shipped platform with the profile's GPU.
std::string platform_of(const Profile& profile) {
  std::string platform = platform_of_gpu(profile.gpu);
  if (!platform.empty()) return platform;
  throw CLI::ValidationError(
      "--platform",
      profile.gpu.empty()
          ? std::string("is missing: the profile does not say its GPU")
          : fmt::format("is missing: no shipped platform has the profile's GPU, {}", shown(profile.gpu, 60)));
}

/// Sets the ranks and the nodes that they need, unless options set the nodes alone.
void place_ranks(const config::Catalogue& catalogue, const Profile& profile, const ImportedTrace& imported,
                 Overrides& keys) {
  const auto gpus = set_value(keys, "gpus");
  const bool has_nodes = set_value(keys, "nodes").has_value();
  if (!gpus && has_nodes) return;
  const int ranks = gpus ? whole_number("--gpus", *gpus, 1) : ranks_of_profile(profile, imported);
  if (!gpus) keys.emplace_back("gpus", std::to_string(ranks));
  if (has_nodes) return;
  const auto platform =
      config::load(config::find(catalogue, config::Kind::platform, *set_value(keys, "platform")));
  const auto on_node = static_cast<int>(load_platform(platform).gpus.size());
  const auto fewer = set_value(keys, "gpus_per_node");
  const int each = fewer ? whole_number("--set gpus_per_node", *fewer, 1) : std::max(1, on_node);
  keys.emplace_back("nodes", std::to_string((ranks + each - 1) / each));
}

/// Takes the keys that no option sets from the profile.
Overrides replay_keys(const config::Catalogue& catalogue, const Profile& profile,
                      const ImportedTrace& imported, Overrides keys) {
  for (const char* const key : {"trace", "traces"}) {
    if (set_value(keys, key)) throw CLI::ValidationError("--set", fmt::format("{} is the profile here", key));
  }
  const auto otherwise = [&](const std::string& key, const std::string& value) {
    if (!set_value(keys, key)) keys.emplace_back(key, value);
  };
  if (!set_value(keys, "platform")) keys.emplace_back("platform", platform_of(profile));
  place_ranks(catalogue, profile, imported, keys);
  const MatrixFormat format = matrix_format_of(profile, imported);
  if (format.precision) otherwise("precision", std::string(config::name_of(*format.precision)));
  otherwise("stack.layout", std::string(config::name_of(format.layout)));
  otherwise("batch_per_gpu", std::to_string(std::max(1, imported.trace.batch_per_gpu)));
  for (const auto& [key, value] : replay_settings(imported)) otherwise(key, value);
  if (set_value(keys, "accumulation").value_or("1") != std::to_string(imported.accumulation))
    throw CLI::ValidationError("--set",
                               fmt::format("accumulation is {} in the profile", imported.accumulation));
  return keys;
}

/// A folder among the temporary files that only this process reads; it ends with its content.
class ScratchFolder {
public:
  ScratchFolder() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = (parent / "trainyard.XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      throw FileError(name + ": " + (error ? error.message() : std::strerror(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// The experiment that replays a trace, as `run --set trace=FILE` would.
ResolvedExperiment replay_of(const config::Catalogue& catalogue, const Profile& profile, const Trace& trace,
                             Overrides keys, InputFiles& files) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "profile.csv").string();
  const std::string text = checked_trace_text(profile.file, trace);
  write_out_file(file, text, false);
  keys.emplace_back("trace", file);
  const auto blamed = [&](std::vector<Diagnostic> diagnostics) {
    return about_ops(std::move(diagnostics), file, text, trace, profile.file);
  };
  try {
    ResolvedExperiment experiment = resolve(catalogue, no_file, keys, files);
    experiment.warnings = blamed(std::move(experiment.warnings));
    return experiment;
  } catch (const InputError& error) {
    throw InputError(blamed(error.diagnostics()));
  }
}

/// The experiment of a model with the batch and the machine of the profile.
ResolvedExperiment model_of(const config::Catalogue& catalogue, const ImportedTrace& imported,
                            const std::string& model, Overrides keys, InputFiles& files) {
  if (imported.trace.batch_per_gpu == 0)
    throw CLI::ValidationError("--batch",
                               "is missing: the profile does not say its samples, which --model needs");
  keys.emplace_back("model", model);
  return resolve(catalogue, no_file, keys, files);
}

void check_limits_of(const TraceValidation& validation, const StepLimits& limits) {
  std::string problems;
  for (const auto& [name, label] : {std::pair("replay", "replayed"), std::pair("predicted", "predicted"),
                                    std::pair("model", "model's")}) {
    const auto limit = limits.find(name);
    if (limit == limits.end()) continue;
    const auto steps = compared_steps(validation);
    const double error =
        step_error(validation, *std::ranges::find(steps, std::string_view(name), &ComparedStep::name)->step);
    if (std::abs(error) > limit->second)
      problems +=
          fmt::format("{}the {} step differs by {} from the profile's, above the limit of {}",
                      problems.empty() ? "" : "\n  ", label, signed_percent(error), percent(limit->second));
  }
  if (!problems.empty()) throw LimitMissed(problems);
}

TraceValidation validated(const ValidateTraceOptions& options, const JobProfiles& job, ImportedTrace imported,
                          Overrides given) {
  const Profile& profile = job.traced.profile;
  const config::Catalogue catalogue = config::find_catalogue();
  const auto model = set_value(given, "model");
  std::erase_if(given, [](const auto& entry) { return entry.first == "model"; });
  if (set_value(given, "optimizer") && !model)
    throw CLI::ValidationError("--optimizer", "belongs to --model: the profile has its own");
  const Overrides keys = replay_keys(catalogue, profile, imported, std::move(given));
  InputFiles files;
  std::vector<ResolvedExperiment> experiments{replay_of(catalogue, profile, imported.trace, keys, files)};
  print_diagnostics(experiments.front().warnings);
  const Precision precision = experiments.front().settings.precision;
  PredictableTrace predictable = predictable_trace(profile, imported, precision);
  experiments.push_back(replay_of(catalogue, profile, predictable.trace, keys, files));
  if (model) experiments.push_back(model_of(catalogue, imported, *model, keys, files));
  const ResolvedExperiment& replay = experiments.front();
  const auto simulated = [](const ResolvedExperiment& one) { return simulated_step(simulate(one, {})); };
  TraceValidation result;
  for (const std::string& file : options.input.files) result.files.push_back(base_name(file));
  result.machine = {.platform = replay.platform.name,
                    .gpu = replay.gpu.name,
                    .stack = replay.settings.stack,
                    .ranks = replay.cluster->ranks(),
                    .nodes = replay.cluster->nodes,
                    .precision = precision,
                    .layout = replay.stack.layout};
  result.gpu = profile.gpu;
  result.rank = profile.rank;
  result.ranks = profile.ranks;
  if (imported.shown_step >= 0)
    result.step = job.traced.work.steps[static_cast<std::size_t>(imported.shown_step)].number;
  result.imported = std::move(imported);
  result.is_computed = std::move(predictable.is_computed);
  result.of_other_type = predictable.of_other_type;
  result.replay = simulated(experiments[0]);
  result.predicted = simulated(experiments[1]);
  if (job.ranks) {
    for (const JoinedOperation& one : job.ranks->operations)
      result.transfers.emplace_back(one.what, one.transfer);
    result.waiting = Seconds(static_cast<double>(job.ranks->ranks[job.place].waiting) * 1e-9);
  }
  if (model) {
    result.model_name = *model;
    result.model = simulated(experiments[2]);
  }
  return result;
}

void validate_trace(const ValidateTraceOptions& options) {
  const StepLimits limits = step_limits(options.fail_above);
  const std::size_t most = options.ops == "all"
                               ? std::numeric_limits<std::size_t>::max()
                               : static_cast<std::size_t>(whole_number("--ops", options.ops, 0));
  Overrides given = single_values(overrides_of(with_keys(options.set, options.keys)));
  if (limits.contains("model") && !set_value(given, "model"))
    throw CLI::ValidationError(fail_above_step, "limits the model's step: add --model MODEL");
  check_page_options(options.page);
  if (options.csv) check_out_file(*options.csv, options.page.force);
  ImportOptions how{.step_range = options.input.step_range, .host_gaps = true};
  if (const auto batch = set_value(given, "batch_per_gpu"))
    how.batch = whole_number("--batch", *batch, 1, 10'000'000);
  const LimitsKept kept(limits_of(options.limits), announce_work);
  const JobProfiles job = read_job(options.input);
  if (job.ranks) how.groups_of_others = job.ranks->groups;
  ImportedTrace imported = trace_of(job.traced.profile, job.traced.work, how);
  for (const std::string& warning : imported.warnings) print_message(fmt::format("warning: {}", warning));
  const TraceValidation validation = validated(options, job, std::move(imported), std::move(given));
  if (options.csv) write_out_file(*options.csv, trace_validation_csv(validation), options.page.force);
  const std::string page = printed_page(options.page, trace_validation_document(validation, most));
  print_result(options.page.json ? json_text(trace_validation_json(validation)) : page);
  check_limits_of(validation, limits);
}

}  // namespace

void add_validate_trace(CLI::App& program) {
  auto options = std::make_shared<ValidateTraceOptions>();
  CLI::App& command = add_command(program, validate_trace_command);
  add_kineto_input(command, options->input);
  add_key_options(command, options->keys);
  command.get_option("--platform")
      ->description(
          "the machine (default: a shipped one with the profile's GPU); short for --set "
          "platform=PLATFORM");
  command.get_option("--model")->description("also simulate this model with the profile's batch");
  command.get_option("--gpus")->description(
      "total number of GPUs (default: the profile's ranks; 1 without collectives); short for --set gpus=N");
  command.get_option("--batch")->description("samples of a rank and micro-batch, where shapes do not say it");
  command.get_option("--optimizer")->description("update rule of --model: " + names_of<Optimizer>());
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: sets a key of the simulated experiment, as 'run' does "
                 "(stack.overlap_slows=false, platform.fabric.nic=\"25 Gbps\")");
  add_value(command, "--ops", options->ops, "N",
            "number of ops to print, those whose computed times are furthest from the profile's; or all");
  add_repeatable(command, "--fail-above", options->fail_above, "PERCENT",
                 "exit with 1 if the replayed step differs by more than PERCENT from the profile's; "
                 "predicted=PERCENT and model=PERCENT limit the other simulated steps");
  add_value(command, "--csv", options->csv, "FILE", "write every op to this file");
  add_limit_options(command, options->limits);
  add_page_options(command, options->page, "print JSON with every op; errors are ratios");
  add_examples(command, {"trainyard validate-trace worker0.pt.trace.json",
                         "trainyard validate-trace worker0.pt.trace.json --platform dgx_h100 --ops all",
                         "trainyard validate-trace worker0.pt.trace.json --fail-above 20 --csv ops.csv"});
  command.callback([options] { validate_trace(*options); });
}

}  // namespace trainyard
