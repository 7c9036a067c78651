#include "cli/commands.hpp"
#include "cli/cost.hpp"
#include "cli/experiment_options.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "experiment/resolve.hpp"
#include "html/report_html.hpp"
#include "report/csv.hpp"
#include "report/json_text.hpp"
#include "report/out_files.hpp"
#include "report/summary_json.hpp"
#include "report/summary_text.hpp"
#include "report/trace_json.hpp"
#include "run/simulate.hpp"
#include "units/version.hpp"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace trainyard {

namespace {

struct RunOptions {
  ExperimentOptions what;
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
  std::optional<std::string> fidelity;
};

using Files = std::map<std::string, std::string>;

/// The names of files that --out may contain; their contents are filled in after the run.
Files empty_files() {
  return {{"summary.json", {}},    {"ops.csv", {}},     {"ranks.csv", {}},
          {"links.csv", {}},       {"trace.json", {}},  {"report.html", {}},
          {"collectives.csv", {}}, {"workers.csv", {}}, {"staleness.csv", {}},
          {"checkpoints.csv", {}}, {"servers.csv", {}}, {"experiment.resolved.yaml", {}}};
}

Files files_of(const ResolvedExperiment& resolved, const Run& run, const std::string& summary) {
  Files files;
  files["summary.json"] = summary;
  files["ops.csv"] = ops_csv(run);
  files["ranks.csv"] = ranks_csv(run);
  files["links.csv"] = links_csv(run.links.rows);
  files["collectives.csv"] = collectives_csv(run);
  files["trace.json"] = trace_json(run);
  files["report.html"] = report_html(run, page_origin(resolved, version()));
  if (updates_of(run)) {
    files["workers.csv"] = workers_csv(*updates_of(run));
    files["staleness.csv"] = staleness_csv(*updates_of(run));
    if (!updates_of(run)->servers.empty()) files["servers.csv"] = servers_csv(*updates_of(run));
  }
  if (run.job && !run.job->intervals.empty()) files["checkpoints.csv"] = checkpoints_csv(*run.job);
  files["experiment.resolved.yaml"] = resolved_text(run);
  return files;
}

void run_experiment(const RunOptions& options) {
  SimulateOptions how;
  if (options.fidelity) how.fidelity = choice<Fidelity>(*options.fidelity);
  const Overrides overrides = overrides_of(options.what.set);
  if (options.out) check_out_dir(*options.out, empty_files(), options.force);
  const ResolvedExperiment resolved = resolve(config::find_catalogue(), options.what.experiment, overrides);
  print_warnings(resolved.warnings);

  const Run run = simulate(resolved, how);
  const std::string summary =
      options.out || options.json ? json_text(summary_json(run, usage_so_far())) : std::string();
  if (options.out) write_out_dir(*options.out, files_of(resolved, run, summary), options.force);
  print_result(options.json ? summary : summary_text(run, wants_colour()));
}

}  // namespace

void add_run(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& command = *program.add_subcommand("run", "simulate one training step and say what limits it");
  add_experiment_options(command, options->what);
  command
      .add_option(
          "--out", options->out,
          "write report.html (the result as a page for a browser), summary.json, ops.csv, ranks.csv, "
          "links.csv, collectives.csv, trace.json (Perfetto) and experiment.resolved.yaml into this new "
          "folder; "
          "of runs of many updates also workers.csv, staleness.csv and servers.csv, of jobs with faults "
          "checkpoints.csv")
      ->type_name("DIR");
  command.add_flag("--force", options->force, "replace DIR if it holds an earlier result");
  command.add_flag("--json", options->json, "print the summary as JSON, in SI base units");
  offer_names_of<Fidelity>(
      command
          .add_option("--fidelity", options->fidelity,
                      "how exactly collectives are simulated, cheapest first: " + names_of<Fidelity>() +
                          " (default: the experiment's, else flow)")
          ->type_name("F"));
  add_examples(command, {"trainyard run resnet50_dgx2 --set nodes=64 --set platform.fabric.nic=\"25 Gbps\"",
                         "trainyard run resnet50_dgx2 --set batch_per_gpu=64 --out results",
                         "trainyard run bert_base_p3dn --fidelity rounds --json"});
  command.callback([options] { run_experiment(*options); });
}

}  // namespace trainyard
