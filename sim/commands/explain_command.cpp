#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "commands/saved_run.hpp"
#include "commands/tried_changes.hpp"
#include "document/json_text.hpp"
#include "experiment/keys_meant.hpp"
#include "explain/assumed_inputs.hpp"
#include "explain/explain_step.hpp"
#include "explain/what_would_help.hpp"
#include "report/explanation.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "units/shell_word.hpp"

#include <CLI/Error.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

struct ExplainOptions {
  std::string run;
  KeyOptions keys;
  std::vector<std::string> set;
  std::optional<std::string> one_gpu;
  std::optional<std::string> jobs;
  PageOptions page;
  LimitOptions limits;
};

/// Meaning of the argument: an experiment's name or path, and for a saved run its summary.
struct Asked {
  std::string experiment;
  std::optional<RunSummary> saved;
};

Asked asked_for(const config::Catalogue& catalogue, const ExplainOptions& options) {
  const std::optional<fs::path> summary =
      options.run == no_file ? std::nullopt : summary_file(catalogue, options.run);
  if (!summary) return {.experiment = options.run, .saved = {}};
  if (!with_keys(options.set, options.keys).empty())
    throw CLI::ValidationError("--set", "requires an experiment; '" + options.run + "' is a saved run");
  if (options.one_gpu)
    throw CLI::ValidationError("--one-gpu", "requires an experiment; '" + options.run + "' is a saved run");
  fs::path experiment = summary->parent_path() / "experiment.resolved.yaml";
  if (!experiment.has_parent_path()) experiment = fs::path(".") / experiment;
  std::error_code ignored;
  if (!fs::exists(experiment, ignored)) {
    throw FileError(
        fmt::format("cannot simulate the saved run again: there is no '{}', which 'trainyard run EXPERIMENT "
                    "--out DIR' writes next "
                    "to summary.json",
                    experiment.string()));
  }
  return {.experiment = experiment.string(), .saved = read_run(*summary)};
}

void explain_run(const ExplainOptions& options) {
  const int parallel = jobs_of(options.jobs);
  check_page_options(options.page);
  const config::Catalogue catalogue = config::find_catalogue();
  const Asked asked = asked_for(catalogue, options);
  Overrides given = overrides_of(
      catalogue,
      {.experiment = asked.experiment, .keys = options.keys, .set = options.set, .one_gpu = options.one_gpu},
      "RUN");
  const LimitsKept limits(limits_of(options.limits), announce_work);
  InputFiles files;
  Overrides overrides = without_totals(catalogue, asked.experiment, given, files);
  ResolvedExperiment resolved = resolve(catalogue, asked.experiment, overrides, files);
  resolved.changed = std::move(given);
  print_diagnostics(resolved.warnings);

  // If the step does not fit into memory, no change is worth simulating.
  if (!is_simulated(resolved))
    in_children(1, 1, [&](int) {
      return simulate(resolved, {.timeline = false, .rows = false, .learn = false}).experiment.name;
    });

  overrides = overrides_for_changes(resolved, std::move(overrides));

  ExplainedRun explained;
  // Each is simulated in its own process, which must start before this one simulates.
  explained.changes = what_would_help(catalogue, asked.experiment, overrides, resolved, files, parallel);
  if (asked.saved) {
    resolved.name = text_of(*asked.saved, "experiment");
    explained.saved_step_time = step_time(*asked.saved);
  }
  Explained simulated = simulate_and_explain(std::move(resolved));
  explained.run = std::move(simulated.run);
  explained.explanation = std::move(simulated.explanation);
  add_assumed_inputs(catalogue, asked.experiment, overrides, explained.run, files, all_assumed_inputs);
  drop_chosen(explained.run, explained.changes);
  drop_needless_pairs(explained.changes);
  std::vector<std::string> words;
  if (asked.experiment != no_file) words.push_back(shell_word(asked.experiment));
  if (!overrides.empty()) words.push_back(as_options(overrides));
  explained.arguments = fmt::format("{}", fmt::join(words, " "));
  const std::string page = printed_page(options.page, explanation_document(explained));
  print_result(options.page.json ? json_text(explanation_json(explained)) : page);
}

}  // namespace

void add_explain(CLI::App& program) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App& command =
      *program.add_subcommand("explain", "explain the step time, and simulate changes that may shorten it");
  offer(command.add_option("RUN", options->run,
                           std::string(run_argument_text) + " (default: --model and --platform)"),
        {"EXPERIMENT", "DIR"});
  add_key_options(command, options->keys);
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: overrides a key of the experiment or of a file it names, as in run");
  add_one_gpu_option(command, options->one_gpu, "; changes keep the factor on kernel times");
  add_jobs_option(command, options->jobs, "simulations");
  add_limit_options(command, options->limits);
  add_page_options(command, options->page, "print JSON in SI base units");
  add_examples(command, {"trainyard explain resnet50_p3_16xlarge_x2",
                         "trainyard explain --model bert_large --platform p4d_24xlarge --nodes 16",
                         "trainyard explain resnet50_dgx2 --nodes 64 --set platform.fabric.nic=\"25 Gbps\"",
                         "trainyard explain my_experiment.yaml -j 2 --json"});
  command.callback([options] { explain_run(*options); });
}

}  // namespace trainyard
