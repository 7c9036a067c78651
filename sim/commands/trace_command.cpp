#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "experiment/keys_meant.hpp"
#include "io/out_files.hpp"
#include "report/run_words.hpp"
#include "run/export_trace.hpp"
#include "workload/trace_csv.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

namespace trainyard {

namespace {

struct TraceOptions {
  ExperimentOptions what;
  std::string out;
  LimitOptions limits;
  bool without_durations = false;
  bool force = false;
};

void export_to_csv(const TraceOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  check_out_file(options.out, options.force);
  InputFiles files;
  const Overrides overrides = overrides_of(catalogue, options.what);
  std::optional<LimitsKept> limits(std::in_place, only_listing(options.limits), announce_work);
  const ResolvedExperiment resolved =
      resolve_with_totals(catalogue, options.what.experiment, overrides, files);
  print_diagnostics(resolved.warnings);
  std::string text = write_trace(export_trace(resolved, !options.without_durations));
  if (const std::string changes = changes_in_words(resolved); !changes.empty())
    text.insert(text.find('\n') + 1, fmt::format("# {}\n", changes));
  limits.reset();  // what is finished gets written
  write_out_file(options.out, text, options.force);
}

}  // namespace

void add_trace(CLI::App& program) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App& command = *program.add_subcommand(
      "trace", "write the ops of one rank's step as CSV; an experiment with 'trace: FILE' replays them");
  add_experiment_options(command, options->what);
  command.add_option("-o,--output", options->out, "write the trace to this file")
      ->required()
      ->type_name("FILE");
  command.add_flag("--without-durations", options->without_durations,
                   "omit the durations; a replay then computes them for its own GPU");
  add_limit_options(command, options->limits);
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard trace resnet50_dgx2 -o resnet50.csv",
                         "trainyard trace resnet50_dgx2 --set precision=amp --without-durations -o amp.csv"});
  command.callback([options] { export_to_csv(*options); });
}

}  // namespace trainyard
