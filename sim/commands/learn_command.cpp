#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "commands/run_files.hpp"
#include "document/json_text.hpp"
#include "experiment/keys_meant.hpp"
#include "io/out_files.hpp"
#include "report/run_page.hpp"
#include "report/summary_json.hpp"
#include "run/simulate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

struct LearnOptions {
  ExperimentOptions what;
  std::optional<std::string> out;
  bool force = false;
  PageOptions page;
  bool no_usage = false;
  LimitOptions limits;
};

/// The overrides, after those that give the usual learner to an experiment without `learn`: softmax on digits
/// with noisy labels, so that there is a floor. What the command line sets of `learn` replaces them. A note
/// names those that are left.
Overrides with_learner(Overrides overrides, bool is_in_file) {
  const auto sets = [&](std::string_view key) {
    return std::ranges::any_of(overrides, [&](const auto& entry) {
      return entry.first == key || entry.first.starts_with(std::string(key) + ".");
    });
  };
  if (is_in_file || std::ranges::find(overrides, "learn", &Overrides::value_type::first) != overrides.end())
    return overrides;
  Overrides all;
  const auto sets_value = [&](std::string_view key) {
    return std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end();
  };
  const bool has_model = sets_value("learn.model") || sets_value("learn.model.kind");
  if (!has_model) all.emplace_back("learn.model.kind", "softmax");
  const bool is_quadratic = std::ranges::any_of(overrides, [](const auto& entry) {
    return (entry.first == "learn.model" || entry.first == "learn.model.kind") && entry.second == "quadratic";
  });
  if (!is_quadratic && !sets("learn.data")) {
    all.emplace_back("learn.data.name", "digits");
    all.emplace_back("learn.data.label_noise", "0.1");
  }
  if (!sets_value("learn.rate") && !sets_value("learn.rate.base")) all.emplace_back("learn.rate.base", "0.1");
  std::vector<std::string> added;
  for (const auto& [key, value] : all) added.push_back(fmt::format("{}={}", key, value));
  if (!added.empty())
    print_message(fmt::format("note: the experiment has no 'learn': {}", fmt::join(added, ", ")));
  all.insert(all.end(), overrides.begin(), overrides.end());
  return all;
}

void learn_experiment(const LearnOptions& options) {
  require_summary(options.no_usage, options.out || options.page.json);
  if (options.out) check_out_dir(*options.out, run_file_names(), options.force);
  const config::Catalogue catalogue = config::find_catalogue();
  InputFiles input;
  const bool is_in_file =
      experiment_document(catalogue, options.what.experiment, input).root.find("learn") != nullptr;
  Overrides overrides = with_learner(overrides_of(catalogue, options.what), is_in_file);
  overrides.emplace_back("learn.when", "always");
  std::optional<LimitsKept> limits(std::in_place, limits_of(options.limits), announce_work);
  ResolvedExperiment resolved = resolve_with_totals(catalogue, options.what.experiment, overrides, input);
  std::erase_if(resolved.changed,
                [](const auto& one) { return one.first == "learn.when"; });  // not the user's
  print_diagnostics(resolved.warnings);
  const Run run = simulate(resolved, {});
  limits.reset();  // what is finished gets written
  const std::string summary =
      options.out || options.page.json
          ? json_text(summary_json(run, options.no_usage ? std::nullopt : std::optional(usage_so_far())))
          : std::string();
  if (options.out)
    write_out_dir(*options.out, run_files(resolved, run, summary), run_file_names(), options.force);
  print_result(options.page.json ? summary : printed_page(options.page, learning_document(run)));
}

}  // namespace

void add_learn(CLI::App& program) {
  auto options = std::make_shared<LearnOptions>();
  CLI::App& command = *program.add_subcommand(
      "learn", "train a small model with real gradients in the order of the simulated job's updates");
  add_experiment_options(command, options->what);
  add_value(
      command, "--out", options->out, "DIR",
      "write the result to this folder, as run does: learning.csv, report.html, summary.json and others");
  command.add_flag("--force", options->force, "replace the folder if it holds an earlier result");
  add_form_options(command, options->page, "print the summary of the run as JSON, in SI base units");
  add_no_usage_option(command, options->no_usage);
  add_limit_options(command, options->limits);
  add_examples(
      command,
      {"trainyard learn digits_stragglers",
       "trainyard learn digits_stragglers --set sync.update=async --set learn.rate.rule=by_staleness",
       "trainyard learn resnet50_p2_16xlarge_async --out learning"});
  command.callback([options] { learn_experiment(*options); });
}

}  // namespace trainyard
