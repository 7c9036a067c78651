#include "commands/sweep_options.hpp"

#include "cli/experiment_keys.hpp"
#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/catalogue.hpp"
#include "config/file_paths.hpp"
#include "config/suggest.hpp"
#include "jobs/job.hpp"
#include "run/default_batch.hpp"
#include "sweep/goal_figures.hpp"
#include "sweep/sweep.hpp"
#include "sweep/value_range.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* trace_key = "trace";
constexpr const char* batch_key = "batch_per_gpu";
constexpr int most_parts = 10'000;  // possible in Slurm, if its administrator allows it

[[noreturn]] void wrong(const std::string& option, const std::string& why) {
  throw CLI::ValidationError(option, why);
}

Shard shard_in(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const Parsed<long long> number = parse_integer(text.substr(0, slash));
  const Parsed<long long> of = parse_integer(text.substr(std::min(slash + 1, text.size())));
  if (!number || !of || *number < 1 || *number > *of || *of > most_parts) {
    wrong("--shard", fmt::format("{} is not I/N, such as 3/8, with I from 1 to N and N at most {}",
                                 in_quotes(text), most_parts));
  }
  return {.number = static_cast<int>(*number), .of = static_cast<int>(*of)};
}

SweepOverrides overrides_in(const SweepOptions& options) {
  SweepOverrides overrides;
  for (const auto& [key, values] : overrides_of(options.set)) overrides.emplace_back(key, split_list(values));
  if (options.one_gpu) overrides.emplace_back(one_gpu_key, std::vector{*options.one_gpu});
  return overrides;
}

/// The file for the name or path: a sweep, or an experiment.
fs::path file_asked_for(const config::Catalogue& catalogue, const std::string& sweep) {
  if (config::is_path(sweep)) return config::find(catalogue, config::Kind::sweep, sweep);
  const auto has = [&](config::Kind kind) {
    const std::vector<std::string> names = config::names(catalogue, kind);
    return std::ranges::find(names, sweep) != names.end();
  };
  const bool is_experiment = !has(config::Kind::sweep) && has(config::Kind::experiment);
  return config::find(catalogue, is_experiment ? config::Kind::experiment : config::Kind::sweep, sweep);
}

/// Rewrites paths of experiments, which may be relative to the sweep's folder, so that they hold in any
/// folder.
void in_folder_of(const fs::path& sweep, const config::Catalogue& catalogue, SweepFile& file) {
  const auto make_absolute = [&](std::string& experiment) {
    if (!config::is_path(experiment)) return;
    const fs::path found = config::find(catalogue, config::Kind::experiment, experiment, sweep);
    experiment = config::real_path(found).string();
  };
  make_absolute(file.experiment);
  if (const auto set = file.set.find(experiment_key); set != file.set.end()) make_absolute(set->second);
  const auto make_all_absolute = [&](KeyValues& lists) {
    for (auto& [key, values] : lists) {
      if (key == experiment_key) std::ranges::for_each(values, make_absolute);
    }
  };
  make_all_absolute(file.vary);
  std::ranges::for_each(file.zip, make_all_absolute);
}

/// The batch that a trace states; 1 for one that states none, or cannot be read: its points will say why.
std::string batch_of(const std::string& trace) {
  try {
    return std::to_string(batch_of_trace({{trace_key, trace}}).value_or(1));
  } catch (const InputError&) {
    return "1";
  } catch (const FileError&) {
    return "1";
  }
}

/// Gives each of several varied traces its own batch, unless a batch is given.
void add_batches_of_traces(SweepFile& file) {
  const auto traces = std::ranges::find(file.vary, trace_key, &KeyValues::value_type::first);
  if (traces == file.vary.end() || traces->second.size() < 2) return;
  if (is_varied(file, batch_key) || file.set.contains(batch_key)) return;
  std::vector<std::string> batches;
  for (const std::string& trace : traces->second) batches.push_back(batch_of(trace));
  print_message("note: batches per GPU as in the traces");
  file.zip.push_back({{trace_key, traces->second}, {batch_key, std::move(batches)}});
  file.vary.erase(traces);
}

/// Sets the batch that fits at the first values of all lists, if there is none.
void add_default_batch(const config::Catalogue& catalogue, SweepFile& file) {
  add_batches_of_traces(file);
  Overrides first(file.set.begin(), file.set.end());
  const auto add_first = [&](const KeyValues& lists) {
    for (const auto& [key, values] : lists)
      if (key != group_key) first.emplace_back(key, values_of_range(values.front()).front());
  };
  add_first(file.vary);
  std::ranges::for_each(file.zip, add_first);
  const std::size_t given = first.size();
  const Overrides all = with_default_batch(catalogue, no_file, std::move(first), "SWEEP");
  if (all.size() > given) file.set.insert(all.back());
}

/// The keys of all points that the experiment reads, not the sweep itself.
std::vector<std::string> keys_of_experiment(const SweepFile& file) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (key != experiment_key && !is_total(key)) keys.push_back(key);
  };
  for (const auto& [key, value] : file.set) add(key);
  for (const auto& [key, values] : file.vary) add(key);
  for (const KeyValues& lists : file.zip) {
    for (const auto& [key, values] : lists)
      if (key != group_key) add(key);
  }
  return keys;
}

/// The length of a training, and the limits of the best points.
void add_goal_options(CLI::App& command, SweepOptions& options) {
  add_value(command, "--epochs", options.epochs, "N",
            "number of epochs for which time, cost and energy are computed (default: 1)");
  add_value(command, "--target", options.target, "TARGET",
            "in place of --epochs: train every point until this target of the model's convergence is "
            "reached, such as \"75.9 % top-1\"");
  add_value(command, "--deadline", options.deadline, "TIME",
            "longest training time of the best points, such as \"8 h\"");
  add_value(command, "--budget", options.budget, "COST",
            "highest training cost of the best points, such as \"500 USD\"");
  add_value(command, "--gpus-max", options.gpus_max, "N", "largest number of GPUs of the best points");
  add_value(command, "--efficiency-min", options.efficiency_min, "SHARE",
            "lowest scaling efficiency of the best points, such as 0.8");
  add_value(command, "--accuracy-min", options.accuracy_min, "SHARE",
            "lowest accuracy of the best points, such as 0.76");
  add_repeatable(
      command, "--goal", options.goals, "BOUND",
      "bound of a figure of the best points, repeatable: \"gpu_utilization >= 0.8\", any column of "
      "sweep.csv in the unit of its name");
}

}  // namespace

void add_sweep_options(CLI::App& command, SweepOptions& options) {
  offer(command.add_option("SWEEP", options.sweep,
                           "name of a shipped sweep or experiment, or the path of a YAML file (default: "
                           "--model and --platform)"),
        {"SWEEP", "EXPERIMENT"});
  add_key_options(command, options.keys, true);
  add_repeatable(command, "--set", options.set, "KEY=V1,V2",
                 "KEY=V1,V2, repeatable: replaces the values of a key; a new key with several values is "
                 "varied too. Ranges: nodes=\"1..64 times 2\", batch_per_gpu=\"32..128 step 32\"");
  add_one_gpu_option(command, options.one_gpu,
                     ". The factor is solved without the varied keys and kept for all points");
  add_jobs_option(command, options.jobs_text, "simulations",
                  "; with --slurm: processors per task (default: sbatch's)");
  add_value(command, "--out", options.out, "DIR",
            "write the result to this folder: sweep.db (SQLite) gets each point when it is finished; "
            "report.html (a page for a browser), sweep.csv, failures.csv, published.csv and groups.csv (if "
            "the sweep has published figures or groups) and sweep.resolved.yaml follow at the end (default: "
            "only print the table)");
  command.add_flag("--resume", options.resume,
                   "continue the sweep in the folder: finished points are not simulated again");
  command.add_flag("--force", options.force, "replace the folder's earlier result");
  add_form_options(command, options.page,
                   "print points, failures, best points, series and published figures as JSON");
  add_value(command, "--by", options.by, "KEY",
            "group table, charts and conclusions by this varied key, one group per value; sweep.csv and "
            "--json keep their rows");
  add_value(command, "--shard", options.shard_text, "I/N",
            "simulate only part I of N and write it to DIR/shard-I-of-N.db");
  command.add_flag("--merge", options.merge, "merge the shards in DIR");
  command.add_flag("--slurm", options.slurm,
                   "write Slurm scripts to DIR/slurm: an array of shards and a job that merges them");
  command.add_flag("--submit", options.submit, "with --slurm: also submit both jobs");
  add_value(command, "--shards", options.shards_text, "N",
            "with --slurm: number of shards (default: one per 100 points)");
  add_goal_options(command, options);
  add_limit_options(command, options.limits, "each point, which is a failure then");
  add_examples(
      command,
      {"trainyard sweep resnet50_dgx2 --gpus 1,2,4,8,16 --batch 64,128",
       "trainyard sweep --model resnet50,vgg16 --platform minsky --nodes \"1..64 times 2\" --batch 32",
       "trainyard sweep resnet50_dlperf --nodes 1..4 --set \"platform.fabric.nic=25 Gbps,100 Gbps\""},
      "Points that fail (wrong input, impossible job, unreadable file) are listed in failures.csv; the\nexit "
      "code is then 4.");
}

void check_sweep_options(SweepOptions& options) {
  options.set = with_keys(std::move(options.set), options.keys);
  std::ignore = with_one_gpu(options.set, options.one_gpu);  // not both
  options.jobs = jobs_of(options.jobs_text);
  std::ignore = limits_of(options.limits);
  if (!options.shard_text.empty()) options.shard = shard_in(options.shard_text);
  if (!options.shards_text.empty()) {
    if (!options.slurm) wrong("--shards", "requires --slurm; use --shard I/N to run one shard");
    options.shards = whole_number("--shards", options.shards_text, 1, most_parts);
  }
  if (!options.out) {
    for (const auto& [is_given, option] :
         {std::pair(options.resume, "--resume"), std::pair(options.shard.has_value(), "--shard"),
          std::pair(options.merge, "--merge"), std::pair(options.slurm, "--slurm"),
          std::pair(options.force, "--force")}) {
      if (is_given) wrong(option, "requires --out DIR");
    }
  }
  if (options.submit && !options.slurm) wrong("--submit", "requires --slurm");
  if (options.page.json && (options.slurm || options.shard))
    wrong("--json", "cannot be used with --shard or --slurm; --merge --json prints all points");
  if (options.page.markdown && (options.slurm || options.shard))
    wrong("--markdown", "cannot be used with --shard or --slurm");
  if (options.by && options.shard)
    wrong("--by", "has no effect with --shard, which prints no table; use it with --merge");
  if (options.by && options.page.json && !options.out)
    wrong("--by", "has no effect with --json, which prints points; add --out DIR for a grouped page");
  if (options.merge + options.shard.has_value() + options.slurm > 1)
    wrong("--merge", "cannot be combined: use one of --shard, --merge and --slurm");
  if (options.merge && options.jobs_text) wrong("-j", "has no effect: --merge simulates nothing");
  if (options.resume && options.force)
    wrong("--resume", "continues a sweep, --force replaces it: use one of them");
  options.goal.epochs = positive_number("--epochs", options.epochs, 1e6);
  if (!options.target.empty()) options.goal.target = options.target;
  if (options.goal.epochs && options.goal.target)
    wrong("--target", "is in place of --epochs: give one of them");
  options.goal.deadline = positive_quantity<Seconds>("--deadline", options.deadline);
  options.goal.budget = positive_quantity<Dollars>("--budget", options.budget);
  options.goal.efficiency_min = positive_number("--efficiency-min", options.efficiency_min, 1);
  options.goal.accuracy_min = positive_number("--accuracy-min", options.accuracy_min, 1);
  for (const std::string& text : options.goals) {
    const auto [figure, condition] = figure_and_bound(text);
    if (const auto bad = wrong_bound(figure, condition)) wrong("--goal", bad->message + "; " + bad->hint);
    if (!options.goal.figures.emplace(figure, condition).second)
      wrong("--goal", fmt::format("{} has two bounds: give one of them", figure));
  }
  if (!options.gpus_max.empty()) options.goal.gpus_max = whole_number("--gpus-max", options.gpus_max, 1);
}

std::pair<std::string, SweepFile> sweep_asked_for(const SweepOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  const bool has_file = options.sweep != no_file;
  const fs::path path = has_file ? file_asked_for(catalogue, options.sweep) : fs::path("sweep");
  const bool is_job = has_file && jobs::is_job_file(path);  // of another framework: an experiment
  const config::Document document = has_file && !is_job ? config::load(path) : config::Document();
  SweepFile file;
  if (!has_file) {
    file.experiment = no_file;
  } else if (is_job || kind_of(path, document) == config::Kind::experiment) {
    file.experiment = config::is_path(options.sweep) ? config::absolute_path(path).string() : options.sweep;
  } else {
    file = load_sweep(document);
    in_folder_of(path, catalogue, file);
  }
  const auto take = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  if (options.goal.epochs || options.goal.target) {
    file.goal.epochs = options.goal.epochs;
    file.goal.target = options.goal.target;
  }
  take(file.goal.deadline, options.goal.deadline);
  take(file.goal.budget, options.goal.budget);
  take(file.goal.gpus_max, options.goal.gpus_max);
  take(file.goal.efficiency_min, options.goal.efficiency_min);
  take(file.goal.accuracy_min, options.goal.accuracy_min);
  for (const auto& [figure, condition] : options.goal.figures) file.goal.figures[figure] = condition;
  file = with_overrides(std::move(file), overrides_in(options));
  require_known_keys(keys_of_experiment(file));
  if (!is_varied(file, experiment_key)) {
    // An error at every point is reported at once.
    const auto set = file.set.find(experiment_key);
    const std::string& experiment = set == file.set.end() ? file.experiment : set->second;
    if (experiment != no_file) config::find(catalogue, config::Kind::experiment, experiment);
    if (experiment == no_file) add_default_batch(catalogue, file);
  }
  return {path.stem().string(), std::move(file)};
}

std::string changes_of(const SweepOptions& options) {
  std::string text;
  for (const auto& [key, values] : overrides_in(options))
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, fmt::join(values, ","));
  return text;
}

std::vector<std::string> words_of(const SweepOptions& options) {
  std::vector<std::string> words;
  if (options.sweep != no_file)
    words.push_back(config::is_path(options.sweep) ? config::absolute_path(options.sweep).string()
                                                   : options.sweep);
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  for (const std::string& text : options.set) add("--set", text);
  for (const std::string& text : options.goals) add("--goal", text);
  add("--one-gpu", options.one_gpu.value_or(""));
  add("--epochs", options.epochs);
  add("--target", options.target);
  add("--deadline", options.deadline);
  add("--budget", options.budget);
  add("--gpus-max", options.gpus_max);
  add("--efficiency-min", options.efficiency_min);
  add("--accuracy-min", options.accuracy_min);
  add("--max-time", options.limits.time.value_or(""));
  add("--max-memory", options.limits.memory.value_or(""));
  add("--out", config::absolute_path(*options.out).string());
  return words;
}

}  // namespace trainyard
