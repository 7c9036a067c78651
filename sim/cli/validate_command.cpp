#include "cli/commands.hpp"
#include "cli/error_limit.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/rule_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "published/assumptions.hpp"
#include "published/collective_rows.hpp"
#include "published/published_files.hpp"
#include "published/validate.hpp"
#include "published/validate_training.hpp"
#include "report/assumptions_table.hpp"
#include "report/json_text.hpp"
#include "report/out_files.hpp"
#include "report/training_plot.hpp"
#include "report/training_validation.hpp"
#include "report/validation_plot.hpp"
#include "report/validation_table.hpp"
#include "run/child_processes.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::string machines = "published";
  std::string protocols = "nccl";
  std::string runs = "published";
  std::optional<std::string> fit, parallel;
  std::optional<std::string> plot, plot_runs, limit;
  bool summary = false;
  bool assumed = false;
  bool spread = false;
  bool json = false;
  bool force = false;
};

/// Rows about collectives, and the others.
std::pair<std::vector<PublishedRow>, std::vector<PublishedRow>> parted(
    const std::vector<PublishedRow>& rows) {
  std::pair<std::vector<PublishedRow>, std::vector<PublishedRow>> parts;
  for (const PublishedRow& row : rows)
    (is_about_a_collective(row) ? parts.first : parts.second).push_back(row);
  return parts;
}

/// The rows of two lists.
std::vector<PublishedRow> both(std::vector<PublishedRow> rows, const std::vector<PublishedRow>& others) {
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

/// Training runs if there are any, with the results for collectives as a member; otherwise only collectives.
nlohmann::ordered_json combined_json(const Validation& collectives, bool has_collectives,
                                     const TrainingValidation& training, bool has_training, FitKind fit) {
  if (!has_training) return validation_json(collectives);
  nlohmann::ordered_json json{{"schema_version", 2}};
  json.update(training_validation_json(training, fit));
  if (has_collectives) json["collectives"] = validation_json(collectives);
  return json;
}

void validate(const ValidateOptions& options) {
  // read before anything slow
  const double limit = options.limit ? percentage("--limit", *options.limit) : 0;
  std::vector<FitKind> asked{FitKind::nothing, FitKind::one_gpu, FitKind::one_node};
  if (options.fit) asked = {choice<FitKind>(*options.fit)};
  const int parallel = options.parallel ? whole_number("-j", *options.parallel, 1, 1024) : processors();
  for (const auto* file : {&options.plot, &options.plot_runs}) {
    if (*file) check_out_file(**file, options.force);
  }
  const config::Catalogue catalogue = config::find_catalogue();
  const MachineRules rules = read_machine_rules(catalogue, options.machines);
  const Protocols constants =
      load_protocols(config::load(config::find(catalogue, config::Kind::protocols, options.protocols)));
  const RunRules runs = read_run_rules(catalogue, options.runs);
  const std::vector<PublishedRow> rows = read_published_files(catalogue, options.files);
  const auto [about_collectives, about_training] = parted(rows);
  const CollectiveCurves curves = collective_curves(about_collectives, rules);
  const Validation collectives = validate_collectives(catalogue, curves, constants);
  // rows to fit to are also looked up among those shipped
  const std::vector<PublishedRow> shipped = options.files.empty() || about_training.empty()
                                                ? std::vector<PublishedRow>()
                                                : parted(read_published_files(catalogue, {})).second;
  const PredictionOptions predictions{.has_spread = options.spread};
  const TrainingValidation training =
      validate_training(catalogue, about_training, shipped, rules, runs, parallel, predictions);
  const FitKind fit = options.fit ? asked.front() : FitKind::one_gpu;
  std::vector<AssumptionEffect> effects;
  if (options.assumed)
    effects = assumption_effects(catalogue, training, both(about_training, shipped), rules, runs, parallel,
                                 fit, predictions);
  if (options.plot) write_out_file(*options.plot, validation_plot(collectives), options.force);
  if (options.plot_runs) write_out_file(*options.plot_runs, training_plot(training), options.force);
  const bool has_collectives = !about_collectives.empty();
  const bool has_training = !about_training.empty() || !has_collectives;
  if (options.json) {
    nlohmann::ordered_json json = combined_json(collectives, has_collectives, training, has_training, fit);
    if (options.assumed) json["assumptions"] = assumptions_json(effects);
    print_result(json_text(json));
  } else {
    if (has_collectives) print_result(validation_table(collectives, options.summary));
    if (has_training) print_result(training_validation_table(training, asked, options.summary));
    if (options.assumed) print_result(assumptions_table(effects, fit));
  }
  if (options.limit) check_limit(collectives, training, fit, limit);
}

}  // namespace

void add_validate(CLI::App& program) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App& command = *program.add_subcommand(
      "validate", "compare predictions with published measurements: training runs and collectives");
  command.add_option("CSV", options->files,
                     "measurements in the columns of workloads/published (default: those shipped)");
  add_machines_option(command, options->machines);
  command
      .add_option("--protocols", options->protocols,
                  "constants of protocols: a name in platforms/protocols or a path")
      ->type_name("PROTOCOLS")
      ->capture_default_str();
  add_runs_option(command, options->runs);
  offer_names_of<FitKind>(
      command
          .add_option("--fit", options->fit,
                      "what predictions of training may be fitted to: " + names_of<FitKind>() +
                          " (default: all of them; with --json 1gpu)")
          ->type_name("FIT"));
  command.add_option("-j", options->parallel, "processes that predict (default: as many as processors)")
      ->type_name("N");
  command.add_flag(
      "--spread", options->spread,
      "GPUs differ as their profiles say, and steps wait for the slowest: how much of the errors that "
      "explains");
  command.add_flag(
      "--assumed", options->assumed,
      "also predict with each assumed value 30 % smaller and larger, which takes minutes; the errors "
      "are those of the fit (default: 1gpu)");
  command.add_flag("--summary", options->summary, "print curves and families, not every size");
  command
      .add_option("--plot", options->plot, "draw the curves of three sizes and more into this file, as SVG")
      ->type_name("FILE");
  command
      .add_option("--plot-runs", options->plot_runs,
                  "draw predicted against measured training runs into this file, as SVG")
      ->type_name("FILE");
  command
      .add_option(
          "--limit", options->limit,
          "end with 1 if a mean error is above this many per cent: of collectives the one over curves from "
          "1 MiB on, of training the one over all clean runs of claimed families under the fit "
          "(default: 1gpu)")
      ->type_name("PERCENT");
  command.add_flag("--json", options->json, "print JSON with errors as ratios instead of the table");
  command.add_flag("--force", options->force, "replace the files of --plot and --plot-runs if they exist");
  add_examples(command, {"trainyard validate --summary --limit 15",
                         "trainyard validate my_runs.csv --fit 1gpu --plot-runs my_runs.svg"});
  command.callback([options] { validate(*options); });
}

}  // namespace trainyard
