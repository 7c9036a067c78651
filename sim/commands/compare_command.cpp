#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "commands/fail_above.hpp"
#include "commands/saved_run.hpp"
#include "commands/values_in_force.hpp"
#include "document/json_text.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/resolve.hpp"
#include "explain/assumed_inputs.hpp"
#include "explain/comparison_error.hpp"
#include "io/out_files.hpp"
#include "report/comparison_page.hpp"
#include "report/summary_json.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::string a;  ///< empty: the options of keys say everything
  std::vector<std::string> others;
  KeyOptions keys;
  std::vector<std::string> set;
  std::optional<std::string> one_gpu;
  std::vector<std::string> fail_above;
  PageOptions page;
  LimitOptions limits;
};

/// One side of the comparison, before anything is simulated.
struct Side {
  std::string letter;                          ///< "A" or "B"
  std::optional<ResolvedExperiment> resolved;  ///< for an experiment
  std::string experiment;                      ///< where that is from, and its changes without totals
  Overrides overrides;
  std::optional<RunSummary> run;  ///< for a saved run
};

Side side_of(const config::Catalogue& catalogue, std::string letter, const std::string& text,
             const Overrides& overrides) {
  Side side{.letter = std::move(letter), .resolved = {}, .experiment = text, .overrides = {}, .run = {}};
  if (const std::optional<fs::path> file = summary_file(catalogue, text))
    side.run = read_run(*file);
  else {
    require_experiment_file(catalogue, text);
    InputFiles files;
    side.overrides = without_totals(catalogue, text, overrides, files);
    side.resolved = resolve(catalogue, text, side.overrides, files);
    side.resolved->changed = overrides;
  }
  return side;
}

/// The other runs keep A's factor on kernel times, unless they have a measurement of their own.
Overrides with_factor_of(const Side& a, const CompareOptions& options, Overrides set) {
  const bool is_measured = std::ranges::find(set, "one_gpu", &Overrides::value_type::first) != set.end();
  if (is_measured || !a.resolved || (!options.others.empty() && !options.one_gpu)) return set;
  Overrides overrides = kept_one_gpu(*a.resolved);
  overrides.insert(overrides.end(), set.begin(), set.end());
  return overrides;
}

/// Titles name what was set, not A's factor, which the side keeps.
void leave_out_factor(Side& side, const Overrides& set) {
  constexpr std::string_view factor = "one_gpu_scale";
  if (!side.resolved || std::ranges::find(set, factor, &Overrides::value_type::first) != set.end()) return;
  std::erase_if(side.resolved->changed, [&](const auto& entry) { return entry.first == factor; });
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
std::string simulated_summary(const config::Catalogue& catalogue, const Side& side) {
  const std::string name = fmt::format("{} ({})", side.letter, side.resolved->name);
  try {
    Run run = simulate(*side.resolved, {.rows = false});
    InputFiles files;
    add_assumed_inputs(catalogue, side.experiment, side.overrides, run, files);
    return json_text(summary_json(run, {}));
  } catch (const JobImpossible& error) {
    throw JobImpossible(fmt::format("{}: {}", name, error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.diagnostics().front().message));
  }
}

/// Simulates the sides that are not simulated yet, each in its own process.
void complete(const config::Catalogue& catalogue, std::vector<Side>& sides) {
  std::vector<Side*> fresh;
  for (Side& side : sides) {
    if (!side.run) fresh.push_back(&side);
  }
  const auto count = static_cast<int>(fresh.size());
  const auto in_child = [&](int i) { return simulated_summary(catalogue, *fresh[at(i)]); };
  const std::vector<std::string> texts = in_children(count, std::min(count, processors()), in_child);
  for (std::size_t i = 0; i < texts.size(); ++i) fresh[i]->run = read_summary(fresh[i]->letter, texts[i]);
}

/// The expected error of the change, from the published runs under the runs' fit.
Known<RatioError> ratio_error_of(const config::Catalogue& catalogue, const Comparison& comparison) {
  const Known<std::string> fit = fit_of_comparison(comparison);
  if (!fit) return unknown(fit.error());
  InputFiles files;
  const auto errors = known_errors(catalogue, *fit, false, files);
  if (!errors) return unknown("no errors of published runs are installed for this fit");
  return comparison_error(comparison, *errors);
}

/// Keys that only one of the runs sets get the value that the other's file or default gives them; those that
/// turn out to be equal are no difference.
void fill_in_values(const config::Catalogue& catalogue, Comparison& comparison) {
  ValuesInForce a(catalogue, comparison.a), b(catalogue, comparison.b);
  for (ComparedKey& key : comparison.keys) {
    if (!key.a) key.a = a.value(key.path);
    if (!key.b) key.b = b.value(key.path);
  }
  std::erase_if(comparison.keys, [](const ComparedKey& key) { return key.a == key.b; });
}

/// `set` replaces or follows `overrides`.
Overrides changed_by(Overrides overrides, const Overrides& set) {
  std::erase_if(overrides, [&](const auto& entry) {
    return std::ranges::find(set, entry.first, &Overrides::value_type::first) != set.end();
  });
  overrides.insert(overrides.end(), set.begin(), set.end());
  return overrides;
}

/// The changes of A: with an experiment or a saved run none, otherwise those of the options of keys.
Overrides overrides_of_a(const config::Catalogue& catalogue, const CompareOptions& options) {
  Overrides overrides = overrides_of(with_one_gpu({}, options.one_gpu));
  if (options.a != no_file) return overrides;
  return with_default_batch(catalogue, no_file,
                            changed_by(single_values(overrides_of(with_keys({}, options.keys))), overrides),
                            "A");
}

/// Throws CLI::ValidationError for options that do not belong together.
void check_options(const CompareOptions& options, const Overrides& set) {
  if (!options.others.empty() && !set.empty())
    throw CLI::ValidationError(options.set.empty() ? "--model, --batch and the like" : "--set",
                               "changes one experiment: omit B, or compare two without");
  if (options.others.empty() && set.empty()) {
    const auto is_given = [](const std::optional<std::string>& value) { return value.has_value(); };
    if (options.a == no_file && std::ranges::none_of(options.keys.values, is_given))
      throw CLI::ValidationError("A is required, or --model and --platform");
    throw CLI::ValidationError("B", options.a == no_file
                                        ? "missing; make it from --model and --platform with --set"
                                        : "missing; name a second run or experiment, or change A with --set");
  }
  if (options.others.size() >= most_compared_runs)
    throw CLI::ValidationError("B", fmt::format("at most {} runs can be compared", most_compared_runs));
  if (options.one_gpu) std::ignore = with_one_gpu(options.set, options.one_gpu);  // not both
}

std::vector<Side> sides_of(const config::Catalogue& catalogue, const CompareOptions& options,
                           const Overrides& set) {
  const Overrides of_a = overrides_of_a(catalogue, options);
  std::vector<Side> sides;
  sides.push_back(side_of(catalogue, "A", options.a, of_a));
  if (options.others.empty()) {
    Overrides of_b = options.a == no_file ? changed_by(of_a, set) : set;
    // A's factor is kept: only a measurement of --set is B's own.
    if (std::ranges::find(set, "one_gpu", &Overrides::value_type::first) == set.end())
      std::erase_if(of_b, [](const auto& entry) { return entry.first == "one_gpu"; });
    sides.push_back(side_of(catalogue, "B", options.a, with_factor_of(sides.front(), options, of_b)));
  }
  for (const std::string& other : options.others)
    sides.push_back(
        side_of(catalogue, letter_of(sides.size()), other, with_factor_of(sides.front(), options, {})));
  for (Side& side : sides) leave_out_factor(side, set);
  return sides;
}

void compare_runs(const CompareOptions& options) {
  const std::vector<ChangeLimit> limits = read_limits(options.fail_above);
  // Without A the options of keys describe it, otherwise they change it as --set does.
  const Overrides set =
      single_values(overrides_of(options.a == no_file ? options.set : with_keys(options.set, options.keys)));
  const config::Catalogue catalogue = config::find_catalogue();
  check_options(options, set);
  const auto require_experiment = [&](const char* option) {
    if (options.a != no_file && summary_file(catalogue, options.a))
      throw CLI::ValidationError(option, "requires an experiment; '" + options.a + "' is a saved run");
  };
  if (options.others.empty()) require_experiment("--set");
  if (options.one_gpu) require_experiment("--one-gpu");

  check_page_options(options.page);

  std::optional<LimitsKept> kept(std::in_place, limits_of(options.limits), announce_work);
  std::vector<Side> sides = sides_of(catalogue, options, set);
  print_diagnostics_of(sides);
  complete(catalogue, sides);
  kept.reset();
  std::vector<RunSummary> runs;
  for (Side& side : sides) runs.push_back(*std::move(side.run));
  std::vector<Comparison> comparisons = compare_with_first(runs);
  for (Comparison& comparison : comparisons) {
    fill_in_values(catalogue, comparison);
    comparison.ratio_error = ratio_error_of(catalogue, comparison);
  }
  const std::string page = printed_page(options.page, comparison_document(comparisons));
  const auto json = [&] {
    return comparisons.size() == 1 ? comparison_json(comparisons.front()) : comparisons_json(comparisons);
  };
  print_result(options.page.json ? json_text(json()) : page);
  check_limits(comparisons, limits);
}

}  // namespace

void add_compare(CLI::App& program) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App& command =
      *program.add_subcommand("compare", "compare runs, and explain the differences of their step times");
  offer(command.add_option("A", options->a,
                           std::string(run_argument_text) + " (default: --model and --platform)"),
        {"EXPERIMENT", "DIR"});
  offer(command.add_option("B", options->others,
                           "second experiment or saved run, and more (default: A with the changes of --set)"),
        {"EXPERIMENT", "DIR"});
  add_key_options(command, options->keys);
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: changes a key of the experiment A to make B (nodes=4, "
                 "platform.fabric.nic=\"25 Gbps\"). Without A, --model, --platform and the options like them "
                 "describe A; otherwise they change it as --set does");
  add_one_gpu_option(
      command, options->one_gpu,
      " for all: the factor on kernel times is solved for A and kept for the others (--set one_gpu=RATE "
      "changes only B)");
  add_repeatable(
      command, "--fail-above", options->fail_above, "NAME=PERCENT",
      fmt::format(
          "repeatable: exit with 1 if a figure of B is worse than A's by more than this percentage, and "
          "name it. NAME is one of {}; a bare PERCENT is for the step time. Step times are per update: "
          "use equal batches",
          names_of_limits()));
  add_limit_options(command, options->limits);
  add_page_options(command, options->page,
                   "print JSON in SI base units; null if a figure cannot be compared");
  add_examples(
      command,
      {"trainyard compare resnet50_dgx2 --batch 64",
       "trainyard compare --model resnet50 --platform dgx2 --set nodes=4",
       "trainyard compare resnet50_dgx2 resnet50_dgx1v resnet50_p3_brookhaven_x2",
       "trainyard compare resnet50_dgx2 resnet50_dgx1v --json",
       "trainyard compare resnet50_dgx2 --set precision=amp --markdown",
       "trainyard compare resnet50_dgx1v resnet50_dgx2 --fail-above step=2% --fail-above memory=1%"});
  command.callback([options] { compare_runs(*options); });
}

}  // namespace trainyard
