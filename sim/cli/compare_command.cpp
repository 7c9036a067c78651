#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/saved_run.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/read_file.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/resolve.hpp"
#include "explain/comparison_error.hpp"
#include "report/comparison_table.hpp"
#include "report/json_text.hpp"
#include "report/summary_json.hpp"
#include "report/text_layout.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "workload/csv.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::string a;
  std::optional<std::string> b;
  KeyOptions keys;
  std::vector<std::string> set;
  std::optional<std::string> one_gpu;
  std::optional<std::string> fail_above;
  bool json = false;
};

/// One side of the comparison, before anything is simulated.
struct Side {
  std::string letter;                          ///< "A" or "B"
  std::optional<ResolvedExperiment> resolved;  ///< for an experiment
  std::optional<RunSummary> run;               ///< for a saved run
};

Side side_of(const config::Catalogue& catalogue, std::string letter, const std::string& text,
             const Overrides& overrides) {
  Side side{.letter = std::move(letter), .resolved = {}, .run = {}};
  if (const std::optional<fs::path> file = summary_file(catalogue, text))
    side.run = read_run(*file);
  else
    side.resolved = resolve(catalogue, text, overrides);
  return side;
}

/// B keeps A's factor on kernel times, unless B has a measurement of its own.
Overrides overrides_of_b(const CompareOptions& options, const Side& a, Overrides set) {
  const bool is_measured = std::ranges::find(set, "one_gpu", &Overrides::value_type::first) != set.end();
  if (is_measured || !a.resolved || (options.b && !options.one_gpu)) return set;
  Overrides overrides = kept_one_gpu(*a.resolved);
  overrides.insert(overrides.end(), set.begin(), set.end());
  return overrides;
}

/// Each warning once.
void print_diagnostics_of(const std::vector<Side>& sides) {
  std::vector<std::string> printed;
  for (const Side& side : sides) {
    if (!side.resolved) continue;
    for (const Diagnostic& warning : side.resolved->warnings) {
      if (std::ranges::find(printed, to_string(warning)) != printed.end()) continue;
      print_diagnostics({warning});
      printed.push_back(to_string(warning));
    }
  }
}

/// The summary that `run --out` would write, so that saved and fresh runs are equal. Error messages name the
/// side.
std::string simulated_summary(const Side& side) {
  const std::string name = fmt::format("{} ({})", side.letter, side.resolved->name);
  try {
    return json_text(summary_json(simulate(*side.resolved, {}), {}));
  } catch (const JobImpossible& error) {
    throw JobImpossible(fmt::format("{}: {}", name, error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.diagnostics().front().message));
  }
}

/// Simulates the sides that are not simulated yet, each in its own process.
void complete(std::vector<Side>& sides) {
  std::vector<Side*> fresh;
  for (Side& side : sides) {
    if (!side.run) fresh.push_back(&side);
  }
  const auto count = static_cast<int>(fresh.size());
  const auto in_child = [&](int i) { return simulated_summary(*fresh[at(i)]); };
  const std::vector<std::string> texts = in_children(count, std::min(count, processors()), in_child);
  for (std::size_t i = 0; i < texts.size(); ++i) fresh[i]->run = read_summary(fresh[i]->letter, texts[i]);
}

/// The expected error of the change, from the published runs under the runs' fit.
Known<RatioError> ratio_error_of(const config::Catalogue& catalogue, const Comparison& comparison) {
  const Known<std::string> fit = fit_of_comparison(comparison);
  if (!fit) return unknown(fit.error());
  const fs::path file = published_errors_file(catalogue, *fit);
  if (file.empty()) return unknown("no errors of published runs are installed for this fit");
  const std::string text = config::read_file(file, largest_csv);
  return comparison_error(comparison, read_published_errors(file.string(), text));
}

void check_fail_above(const Comparison& comparison, double limit) {
  const double slower = comparison.step_ratio - 1;
  if (slower <= limit) return;
  throw LimitMissed(fmt::format("B's step takes {} longer than A's, above the limit of {}", percent(slower),
                                percent(limit)));
}

void compare_runs(const CompareOptions& options) {
  const double limit = options.fail_above ? percentage("--fail-above", *options.fail_above) : 0;
  const Overrides overrides = overrides_of(with_keys(options.set, options.keys));
  if (options.b && !overrides.empty())
    throw CLI::ValidationError("--set", "changes one experiment: omit B, or compare two without --set");
  if (!options.b && overrides.empty())
    throw CLI::ValidationError("B", "missing; name a second run or experiment, or change A with --set");
  if (options.one_gpu) std::ignore = with_one_gpu(options.set, options.one_gpu);  // not both
  const config::Catalogue catalogue = config::find_catalogue();
  const auto require_experiment = [&](const char* option) {
    if (summary_file(catalogue, options.a))
      throw CLI::ValidationError(option, "requires an experiment; '" + options.a + "' is a saved run");
  };
  if (!options.b) require_experiment("--set");
  if (options.one_gpu) require_experiment("--one-gpu");

  std::vector<Side> sides;
  sides.push_back(side_of(catalogue, "A", options.a, overrides_of(with_one_gpu({}, options.one_gpu))));
  sides.push_back(side_of(catalogue, "B", options.b.value_or(options.a),
                          overrides_of_b(options, sides.front(), overrides)));
  print_diagnostics_of(sides);
  complete(sides);
  Comparison comparison = compare(std::move(*sides[0].run), std::move(*sides[1].run));
  comparison.ratio_error = ratio_error_of(catalogue, comparison);
  print_result(options.json ? json_text(comparison_json(comparison))
                            : comparison_table(comparison, print_style()));
  if (options.fail_above) check_fail_above(comparison, limit);
}

}  // namespace

void add_compare(CLI::App& program) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App& command =
      *program.add_subcommand("compare", "compare two runs, and explain the difference of their step times");
  offer(command.add_option("A", options->a, run_argument_text)->required(), {"EXPERIMENT", "DIR"});
  offer(command.add_option("B", options->b,
                           "second experiment or saved run (default: A with the changes of --set)"),
        {"EXPERIMENT", "DIR"});
  add_key_options(command, options->keys);
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: changes a key of the experiment A to make B (nodes=4, "
                 "platform.fabric.nic=\"25 Gbps\")");
  add_one_gpu_option(
      command, options->one_gpu,
      " for both: the factor on kernel times is solved for A and kept for B (--set one_gpu=RATE "
      "changes only B)");
  add_value(command, "--fail-above", options->fail_above, "PERCENT",
            "exit with 1 if B's step time exceeds A's by more than this percentage. Compares time per "
            "update: use equal batches");
  command.add_flag("--json", options->json,
                   "print JSON in SI base units; null if a figure cannot be compared");
  add_examples(command, {"trainyard compare resnet50_dgx2 --batch 64",
                         "trainyard compare resnet50_dgx2 resnet50_dgx1v --json",
                         "trainyard compare resnet50_dgx1v resnet50_dgx2 --fail-above 2"});
  command.callback([options] { compare_runs(*options); });
}

}  // namespace trainyard
