#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/assertion.hpp"
#include "commands/commands.hpp"
#include "commands/given_ranges.hpp"
#include "commands/run_files.hpp"
#include "commands/tried_changes.hpp"
#include "document/json_text.hpp"
#include "experiment/job.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/resolve.hpp"
#include "explain/assumed_inputs.hpp"
#include "io/out_files.hpp"
#include "report/run_page.hpp"
#include "report/summary_json.hpp"
#include "run/fitting_layouts.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <array>
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

constexpr std::array<std::string_view, 4> lengths_of_jobs{"job.epochs", "job.steps", "job.tokens",
                                                          "job.target"};

struct RunOptions {
  ExperimentOptions what;
  std::optional<std::string> out;
  bool force = false;
  bool no_page = false;
  PageOptions page;
  bool no_usage = false;
  bool verify = false;
  std::optional<std::string> fidelity;
  std::string epochs;
  std::string tokens;
  std::string target;
  std::vector<std::string> assertions;
  LimitOptions limits;
};

Run simulate_or_say_what_fits(const ResolvedExperiment& resolved, const SimulateOptions& how) {
  try {
    return simulate(resolved, how);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(error.what() + fitting_hint(resolved));
  }
}

/// The job's length by an option that is short for a key.
Overrides with_length(Overrides overrides, const char* option, const char* key, const std::string& value) {
  if (value.empty()) return overrides;
  for (const auto& [set_key, set_value] : overrides) {
    if (set_key == key && set_value == value) return overrides;
    if (set_key == key)
      throw CLI::ValidationError(option, fmt::format("is short for --set {}=...: give one of them", key));
    if (std::ranges::find(lengths_of_jobs, set_key) != lengths_of_jobs.end())
      throw CLI::ValidationError(
          option, fmt::format("and {} both say how long the job is: give one of them", set_key));
  }
  overrides.emplace_back(key, value);
  return overrides;
}

/// The overrides with the job's length of --epochs, --tokens or --target.
Overrides with_length(Overrides overrides, const RunOptions& options) {
  std::ignore = positive_number("--epochs", options.epochs, config::job_limits::most_epochs);
  overrides = with_length(std::move(overrides), "--epochs", "job.epochs", options.epochs);
  overrides = with_length(std::move(overrides), "--tokens", "job.tokens", options.tokens);
  return with_length(std::move(overrides), "--target", "job.target", options.target);
}

/// Throws CLI::ValidationError if --set gives another level of detail.
void require_same_fidelity(const Overrides& set, const std::optional<std::string>& fidelity) {
  const auto given = std::ranges::find(set, "fidelity", &Overrides::value_type::first);
  if (fidelity && given != set.end() && given->second != *fidelity)
    throw CLI::ValidationError("--fidelity", fmt::format("{} and --set fidelity={} differ: give one of them",
                                                         *fidelity, given->second));
}

/// Throws CLI::ValidationError if there is nothing to compare.
void require_flow(const std::optional<Fidelity>& asked, const ResolvedExperiment& resolved) {
  const Fidelity fidelity = asked.value_or(resolved.settings.fidelity);
  if (fidelity == Fidelity::flow) return;
  throw CLI::ValidationError("--verify",
                             fmt::format("compares fidelity flow with messages; this run has fidelity {}",
                                         config::name_of(fidelity)));
}

/// Writes and prints the result. Throws if an assertion or a limit is not met.
void give_out(const RunOptions& options, const ResolvedExperiment& resolved, const Run& run,
              PageChanges changes, const std::vector<Assertion>& assertions) {
  const std::string summary =
      options.out || options.page.json
          ? json_text(summary_json(run, options.no_usage ? std::nullopt : std::optional(usage_so_far())))
          : std::string();
  if (options.out) {
    write_out_dir(*options.out,
                  options.no_page ? run_tables(run, summary)
                                  : run_files(resolved, run, summary, worth_showing(std::move(changes), run)),
                  run_file_names(), options.force);
  }
  print_result(options.page.json ? summary : printed_page(options.page, run_document(run)));
  require(assertions, run);
  require_within(run.verified);
}

void run_experiment(const RunOptions& options) {
  if (options.no_page && !options.out)
    throw CLI::ValidationError("--no-page", "is for --out DIR, which writes the page");
  require_summary(options.no_usage, options.out || options.page.json);
  SimulateOptions how;
  std::vector<Assertion> assertions;
  for (const std::string& text : options.assertions) assertions.push_back(read_assertion(text));
  if (options.fidelity) how.fidelity = choice<Fidelity>(*options.fidelity);
  how.rows = options.out.has_value();
  const config::Catalogue catalogue = config::find_catalogue();
  if (options.out) check_out_dir(*options.out, run_file_names(), options.force);
  InputFiles files;
  GivenRanges given = given_ranges(catalogue, options.what, files);
  const Overrides asked = with_length(overrides_of(catalogue, given.what), options);
  require_same_fidelity(asked, options.fidelity);
  const Overrides overrides = without_totals(catalogue, options.what.experiment, asked, files);
  std::optional<LimitsKept> limits(std::in_place, limits_of(options.limits), announce_work);
  ResolvedExperiment resolved = resolve(catalogue, options.what.experiment, overrides, files);
  resolved.changed = asked;
  print_diagnostics(resolved.warnings);
  if (options.verify) require_flow(how.fidelity, resolved);

  if (options.out)
    expect(bars_of_trace(resolved), "bars of trace.json", Bytes(1500), "without --out nothing is written");

  // Each is simulated in its own process, which must start before this one simulates.
  PageChanges changes;
  if (options.out && !options.no_page)
    changes = changes_for_page({.catalogue = catalogue,
                                .experiment = options.what.experiment,
                                .overrides = overrides,
                                .resolved = resolved,
                                .files = files},
                               how);
  SpeedsAtEnds ends;
  if (!given.inputs.empty() && is_simulated(resolved))  // else the run will say so
    ends = simulate_ends(catalogue, options.what.experiment, asked, std::move(given.inputs), files, how);
  std::optional<Known<Verification>> verified;
  if (options.verify && is_simulated(resolved))
    verified = verify(catalogue, options.what.experiment, overrides_for_changes(resolved, overrides),
                      resolved, files);
  Run run = simulate_or_say_what_fits(resolved, how);
  if (verified && !*verified) run.notes.push_back("--verify compared nothing: " + verified->error());
  if (verified) run.verified = *std::move(verified);
  if (!ends.inputs.empty())
    run.ranges = combined(std::move(ends.inputs), {run.pace.time, run.pace.throughput}, ends.together);
  add_assumed_inputs(catalogue, options.what.experiment, overrides, run, files);
  limits.reset();  // what is finished gets written
  if (run.memory && !fullest(*run.memory).fits)
    print_message("warning: " + ignored_verdict(fullest(*run.memory)));
  give_out(options, resolved, run, std::move(changes), assertions);
}

}  // namespace

void add_run(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& command = *program.add_subcommand("run", "simulate one training step and report what limits it");
  add_experiment_options(
      command, options->what,
      fmt::format(
          "; a range, nodes=2..8 or platform.fabric.nic=\"25..100 Gbps\", is answered "
          "with the results at its ends, too, and for whole numbers at powers of two between them: up "
          "to {} keys, here or in the experiment's file; the run itself has the "
          "value of the file if that lies in the range, otherwise the low end",
          most_ranges));
  add_value(
      command, "--out", options->out, "DIR",
      "write the result to this folder: report.html (a page for a browser, for which changes that would help "
      "are simulated), summary.json, ops.csv, "
      "ranks.csv, links.csv, collectives.csv, trace.json (Perfetto) and experiment.resolved.yaml; runs of "
      "many updates add workers.csv, staleness.csv and servers.csv, jobs with faults checkpoints.csv, with "
      "'learn' learning.csv");
  command.add_flag("--force", options->force, "replace the folder if it holds an earlier result");
  command.add_flag(
      "--no-page", options->no_page,
      "write no report.html, which takes most of the time of --out: changes are simulated for it");
  add_form_options(command, options->page, "print the summary as JSON, in SI base units");
  add_no_usage_option(command, options->no_usage);
  add_choice<Fidelity>(command, "--fidelity", options->fidelity, "F",
                       "level of detail of collectives, cheapest first: {} (default: the experiment's, else "
                       "flow)");
  command.add_flag(
      "--verify", options->verify,
      fmt::format(
          "also simulate the step message by message on SimGrid and print the largest difference, "
          "within a minute or so: all of a job of up to {} GPUs and {:.0f} million messages (from {} "
          "GPUs on {:.0f} million), otherwise the largest part; exits with 1 if it is larger than documented",
          most_verified_ranks, most_messages / 1e6, many_verified_ranks + 1,
          most_messages_of_many_ranks / 1e6));
  add_value(command, "--epochs", options->epochs, "N",
            "also print time, energy and cost of a job of N epochs, as job.epochs=N");
  add_value(
      command, "--tokens", options->tokens, "N",
      "also print time, energy and cost of a job that trains on so many tokens, such as 15T or 300B, as "
      "job.tokens=N");
  add_value(command, "--target", options->target, "TARGET",
            "also print time, energy and cost of a job that trains until this target of the model's "
            "convergence is reached, as job.target=TARGET");
  add_repeatable(
      command, "--assert", options->assertions, "CONDITION",
      "repeatable: exit with 1 if a figure of summary.json is not as stated, such as \"step_time < 130 "
      "ms\" or \"scaling_efficiency >= 80 %\"");
  add_limit_options(command, options->limits);
  add_examples(
      command,
      {"trainyard run --model vgg16 --platform minsky --nodes 64",
       "trainyard run resnet50_dgx2 --nodes 64 --set platform.fabric.nic=\"25 Gbps\"",
       "trainyard run resnet50_dgx2 --batch 64 --out results",
       "trainyard run resnet50_dgx2 --set precision=amp --one-gpu \"803 samples/s\"",
       "trainyard run bert_base_p3dn --nodes 8 --set \"platform.fabric.nic=25..100 Gbps\"",
       "trainyard run resnet50_p3_16xlarge_x2 --epochs 90",
       "trainyard run bert_base_p3dn --global-batch 8192 --tokens 300B",
       "trainyard run resnet50_p3_16xlarge_x2 --target \"75.9 % top-1\"",
       "trainyard run bert_base_p3dn --fidelity rounds --json", "trainyard run bert_base_p3dn --verify",
       "trainyard run resnet50_dgx2 --assert \"step_time < 400 ms\" --assert \"memory_peak < 30 GiB\""});
  command.callback([options] { run_experiment(*options); });
}

}  // namespace trainyard
