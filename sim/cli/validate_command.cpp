#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "experiment/prediction_error.hpp"
#include "published/assumptions.hpp"
#include "published/collective_rows.hpp"
#include "published/layout_error_table.hpp"
#include "published/memory_outcomes.hpp"
#include "published/missing_rules.hpp"
#include "published/published_experiments.hpp"
#include "published/published_files.hpp"
#include "published/run_error_table.hpp"
#include "published/run_errors.hpp"
#include "published/target_rows.hpp"
#include "published/validate.hpp"
#include "published/validate_layouts.hpp"
#include "published/validate_targets.hpp"
#include "published/validate_training.hpp"
#include "report/assumptions_table.hpp"
#include "report/interval_report.hpp"
#include "report/json_text.hpp"
#include "report/layout_validation.hpp"
#include "report/memory_outcomes_table.hpp"
#include "report/out_files.hpp"
#include "report/target_validation.hpp"
#include "report/training_plot.hpp"
#include "report/training_validation.hpp"
#include "report/validation_plot.hpp"
#include "report/validation_table.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::string machines = "published";
  std::string protocols = "nccl";
  std::string runs = "published";
  std::optional<std::string> fit, jobs;
  std::optional<std::string> plot, plot_runs, errors, experiments, csv, limit;
  LimitOptions limits;
  bool summary = false;
  bool assumed = false;
  bool equal_gpus = false;
  bool json = false;
  bool force = false;
};

struct RowsByKind {
  std::vector<PublishedRow> collectives, training, layouts, targets;

  /// `parallel`: processes that share it.
  [[nodiscard]] Work work(int parallel) const {
    return {.predicted_runs = static_cast<double>(training.size() + targets.size()) / parallel,
            .predicted_layouts = static_cast<double>(layouts.size()) / parallel};
  }
};

/// Rows with layout columns, about trainings to a target, about collectives, and the others.
RowsByKind parted(const std::vector<PublishedRow>& rows) {
  RowsByKind parts;
  for (const PublishedRow& row : rows) {
    if (row.layout)
      parts.layouts.push_back(row);
    else if (row.to_target)
      parts.targets.push_back(row);
    else
      (is_about_a_collective(row) ? parts.collectives : parts.training).push_back(row);
  }
  return parts;
}

/// Runs whose ranks share a model have rules of their own, unless others are named.
std::string rules_of_layouts(const std::string& named) {
  return named == ValidateOptions{}.runs ? "layouts" : named;
}

/// Trainings to a target have rules of their own too.
std::string rules_of_targets(const std::string& named) {
  return named == ValidateOptions{}.runs ? "to_target" : named;
}

nlohmann::ordered_json head_of_json() { return {{"schema_version", 3}, {"trainyard_version", version()}}; }

/// Training runs if there are any, with the results for collectives as a member; otherwise only collectives.
nlohmann::ordered_json combined_json(const CollectiveValidation& collectives, bool has_collectives,
                                     const TrainingValidation& training, bool has_training, FitKind fit) {
  if (!has_training) return validation_json(collectives);
  nlohmann::ordered_json json = head_of_json();
  json.update(training_validation_json(training, fit));
  if (has_collectives) json["collectives"] = validation_json(collectives);
  return json;
}

/// The fit of runs whose ranks share a model: they have no run on one GPU, so that `1gpu` and `1node` are
/// the others on the fewest GPUs.
LayoutFit layout_fit(FitKind fit) {
  if (fit == FitKind::nothing) return LayoutFit::nothing;
  return fit == FitKind::software ? LayoutFit::software : LayoutFit::one_layout;
}

/// The fit of trainings to a target: one system's row stands for the run on one GPU or one node.
TargetFit target_fit(FitKind fit) {
  if (fit == FitKind::nothing) return TargetFit::nothing;
  return fit == FitKind::software ? TargetFit::software : TargetFit::one_system;
}

/// Why the mean error of some rows misses the limit; empty if it does not.
std::string missed(const std::string& one, const std::string& many, const std::optional<double>& error,
                   double limit) {
  if (!error) {
    return fmt::format("no {} could be predicted, so the limit of {:.1f} % is missed", one, 100 * limit);
  }
  if (*error <= limit) return {};
  return fmt::format("the mean error over {} is {:.1f} %, above the limit of {:.1f} %", many, 100 * *error,
                     100 * limit);
}

/// For collectives, the mean over curves from 1 MiB up; for training under `fit`, the mean over complete
/// runs of families that count in the totals; likewise for runs whose ranks share a model, and for each
/// family of trainings to a target. `limit` is a ratio. Throws LimitMissed if either mean is above it, if
/// rows of a kind were predicted but none of them is part of the mean, or if nothing was scored at all.
void check_limit(const CollectiveValidation& collectives, const TrainingValidation& training,
                 const LayoutValidation& layouts, const TargetValidation& targets, FitKind fit,
                 double limit) {
  const bool has_runs = !training.runs.empty() || !training.missed.empty();
  const bool has_layouts = !layouts.runs.empty() || !layouts.excluded.empty();
  std::string all;
  if (!collectives.curves.empty() || (!has_runs && !has_layouts && targets.rows.empty())) {
    all = missed("collective from 1 MiB up", "collective curves from 1 MiB up",
                 summary_of(collectives).large.mape, limit);
  }
  if (has_runs) {
    const std::string_view under = config::name_of(fit);
    const std::string its = missed(fmt::format("eligible training run with fit {}", under),
                                   fmt::format("eligible training runs with fit {}", under),
                                   errors_of(training, fit, {}).mape, limit);
    all += (all.empty() || its.empty() ? "" : "\n") + its;
  }
  if (has_layouts) {
    const LayoutFit its = layout_fit(fit);
    const std::string about =
        missed(fmt::format("run whose ranks share a model with fit {}", config::name_of(its)),
               fmt::format("runs whose ranks share a model with fit {}", config::name_of(its)),
               errors_of(layouts, its).mape, limit);
    all += (all.empty() || about.empty() ? "" : "\n") + about;
  }
  for (const std::string& family : target_families(targets)) {
    const TargetFit its = target_fit(fit);
    const TargetErrors errors = errors_of(targets, its, family);
    const std::string rows = fmt::format("rows of {} with fit {}", family, config::name_of(its));
    if (errors.coverage == 0) continue;  // none of its rows can be claimed
    const std::string about = missed(rows, rows, errors.mape, limit);
    all += (all.empty() || about.empty() ? "" : "\n") + about;
  }
  if (!all.empty()) throw LimitMissed(all);
}

/// Names machines and frameworks that no rule recognises. Their rows are left out, with a warning; it is an
/// error if nothing else is in the files, and so are then models, of which published rows have many others.
void report_missing_rules(const PublishedData& collectives, const PublishedData& training,
                          bool is_anything_predicted) {
  std::vector<Diagnostic> missing = missing_machines(collectives);
  std::ranges::move(missing_rules(training), std::back_inserter(missing));
  if (!is_anything_predicted) std::ranges::move(missing_models(training), std::back_inserter(missing));
  if (missing.empty()) return;
  if (!is_anything_predicted) throw InputError(std::move(missing));
  for (Diagnostic& each : missing) each.severity = Severity::warning;
  print_diagnostics(missing);
}

/// Refuses --experiments whose files exist, or would be those of two rows.
void check_experiment_files(const ValidateOptions& options, const RowsByKind& rows) {
  std::map<std::string, std::string> tables;  // by name of the file
  for (const auto* const kind : {&rows.training, &rows.layouts}) {
    for (const PublishedRow& row : *kind) {
      const std::string name = experiment_file(row);
      const auto [its, is_new] = tables.emplace(name, row.file);
      if (!is_new && its->second != row.file)
        throw InputError(fmt::format("'{}' and '{}' would both write {}", its->second, row.file, name),
                         "one of them under another name");
      if (is_new) check_out_file(std::filesystem::path(*options.experiments) / name, options.force);
    }
  }
}

/// The file of --errors for a fit.
std::filesystem::path error_file(const ValidateOptions& options, FitKind fit) {
  return std::filesystem::path(*options.errors) / fmt::format("{}.csv", config::name_of(fit));
}

/// The same for runs whose ranks share a model; nothing for a fit to which no such experiment can be fitted.
std::optional<std::filesystem::path> layout_error_file(const ValidateOptions& options, FitKind fit) {
  if (layout_fit(fit) == LayoutFit::one_layout) return std::nullopt;
  return std::filesystem::path(*options.errors) /
         fmt::format("{}{}.csv", layouts_prefix, config::name_of(fit));
}

std::filesystem::path curve_error_file(const ValidateOptions& options) {
  return std::filesystem::path(*options.errors) / "collectives.csv";
}

void validate(const ValidateOptions& options) {
  // read before anything slow
  const double limit = options.limit ? percentage("--limit", *options.limit) : 0;
  std::vector<FitKind> asked = PredictionOptions{}.fits;
  if (options.fit) asked = {choice<FitKind>(*options.fit)};
  const int parallel = jobs_of(options.jobs);
  const LimitsKept limits(limits_of(options.limits), announce_work);
  for (const auto* file : {&options.plot, &options.plot_runs, &options.csv}) {
    if (*file) check_out_file(**file, options.force);
  }
  std::vector<FitKind> error_files;
  if (options.errors) {
    check_out_file(curve_error_file(options), options.force);
    for (const FitKind its : asked) {
      if (its == FitKind::one_node) continue;  // no experiment has a measurement of one node
      error_files.push_back(its);
      check_out_file(error_file(options, its), options.force);
      if (const auto file = layout_error_file(options, its)) check_out_file(*file, options.force);
    }
  }
  const config::Catalogue catalogue = config::find_catalogue();
  const MachineRules machines = read_machine_rules(catalogue, options.machines);
  const Protocols constants =
      load_protocols(config::load(config::find(catalogue, config::Kind::protocols, options.protocols)));
  const RunRules runs = read_run_rules(catalogue, options.runs);
  RowsByKind rows = parted(read_published_files(catalogue, options.files));
  expect(rows.work(parallel), "CSV files of fewer rows take less");
  expect_no_more();
  if (options.experiments) check_experiment_files(options, rows);
  auto& [about_collectives, about_training, about_layouts, about_targets] = rows;
  const bool has_collectives = !about_collectives.empty();
  const bool has_layouts = !about_layouts.empty();
  const bool has_targets = !about_targets.empty();
  const bool has_training = !about_training.empty() || (!has_collectives && !has_layouts && !has_targets);
  const auto collective_data = std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = machines, .run_rules = runs, .rows = std::move(about_collectives)});
  const auto curves = collective_curves(collective_data);
  const CollectiveValidation collectives = validate_collectives(catalogue, curves, constants);
  // rows to fit to are also looked up among those shipped
  std::vector<PublishedRow> shipped;
  std::vector<PublishedRow> shipped_layouts;
  if (!options.files.empty() && (!about_training.empty() || has_targets || has_layouts)) {
    RowsByKind others = parted(read_published_files(catalogue, {}));
    complete_energy_rows(about_targets, others.targets);
    if (!about_training.empty()) shipped = std::move(others.training);
    if (has_layouts) shipped_layouts = std::move(others.layouts);
  } else {
    complete_energy_rows(about_targets, {});
  }
  const PredictionOptions predictions{.equal_gpus = options.equal_gpus, .fits = asked};
  const TrainingValidation training =
      validate_training(catalogue,
                        std::make_shared<const PublishedData>(PublishedData{.machine_rules = machines,
                                                                            .run_rules = runs,
                                                                            .rows = std::move(about_training),
                                                                            .lookup = std::move(shipped)}),
                        parallel, predictions);
  LayoutValidation layouts;
  if (has_layouts) {
    layouts = validate_layouts(
        catalogue,
        std::make_shared<const PublishedData>(
            PublishedData{.machine_rules = read_machine_rules(catalogue, rules_of_layouts(options.machines)),
                          .run_rules = read_run_rules(catalogue, rules_of_layouts(options.runs)),
                          .rows = std::move(about_layouts),
                          .lookup = std::move(shipped_layouts)}),
        parallel, options.equal_gpus);
  }
  TargetValidation targets;
  if (has_targets) {
    targets = validate_targets(
        catalogue,
        std::make_shared<const PublishedData>(
            PublishedData{.machine_rules = read_machine_rules(catalogue, rules_of_targets(options.machines)),
                          .run_rules = read_run_rules(catalogue, rules_of_targets(options.runs)),
                          .rows = std::move(about_targets)}),
        parallel, options.equal_gpus);
  }
  MemoryValidation memory;
  if (has_training)
    memory = validate_memory(
        catalogue, training.data,
        options.files.empty() ? shipped_memory_outcomes(catalogue) : std::vector<PublishedOutcome>());
  std::vector<LayoutFit> fits_of_layouts(layout_fits.begin(), layout_fits.end());
  if (options.fit) fits_of_layouts = {layout_fit(asked.front())};
  std::vector<TargetFit> fits_of_targets(target_fits.begin(), target_fits.end());
  if (options.fit) fits_of_targets = {target_fit(asked.front())};
  const FitKind fit = options.fit ? asked.front() : FitKind::one_gpu;
  std::vector<AssumptionEffect> effects;
  if (options.assumed) effects = assumption_effects(catalogue, training, parallel, fit, predictions);
  if (options.plot) write_out_file(*options.plot, validation_plot(collectives), options.force);
  if (options.plot_runs) write_out_file(*options.plot_runs, training_plot(training), options.force);
  if (options.csv)
    write_out_file(*options.csv,
                   validated_runs_csv(training_validation_json(training, fit),
                                      has_layouts ? layout_validation_json(layouts, layout_fit(fit))
                                                  : nlohmann::ordered_json()),
                   options.force);
  for (const FitKind its : error_files) {
    if (has_training)
      write_out_file(error_file(options, its), published_errors_text(published_errors(training, its)),
                     options.force);
    if (const auto file = layout_error_file(options, its); file && has_layouts)
      write_out_file(*file, published_errors_text(layout_errors(layouts, layout_fit(its))), options.force);
  }
  if (options.errors && has_collectives)
    write_out_file(curve_error_file(options), collective_errors_text(collective_errors(collectives)),
                   options.force);
  if (options.experiments) {
    for (const PublishedExperiment& each : published_experiments(catalogue, training, layouts))
      write_out_file(std::filesystem::path(*options.experiments) / each.file, each.text, options.force);
  }
  if (options.json) {
    nlohmann::ordered_json json =
        has_collectives || has_training || has_layouts
            ? combined_json(collectives, has_collectives, training, has_training, fit)
            : head_of_json();
    if (has_layouts) json["layouts"] = layout_validation_json(layouts, layout_fit(fit));
    if (has_targets) json["targets"] = target_validation_json(targets, target_fit(fit));
    if (has_training) json["memory"] = memory_outcomes_json(memory);
    if (options.assumed) json["assumptions"] = assumptions_json(effects);
    print_result(json_text(json));
  } else {
    const PrintStyle style = print_style();
    if (has_collectives) print_result(validation_table(collectives, options.summary, style));
    if (has_training) print_result(training_validation_table(training, asked, options.summary, style));
    if (has_layouts) print_result(layout_validation_table(layouts, fits_of_layouts, options.summary, style));
    if (has_targets) print_result(target_validation_table(targets, fits_of_targets, options.summary, style));
    if (has_training) print_result(memory_outcomes_table(memory, style));
    if (options.assumed) print_result(assumptions_table(effects, fit, style));
  }
  if (!options.files.empty())
    report_missing_rules(
        *collective_data, *training.data,
        !curves.curves.empty() || !training.runs.empty() || !layouts.runs.empty() || !targets.rows.empty());
  if (options.limit) check_limit(collectives, training, layouts, targets, fit, limit);
}

}  // namespace

void add_validate(CLI::App& program) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App& command = *program.add_subcommand(
      "validate", "compare predictions with published measurements: training runs and collectives");
  add_measurements_argument(command, options->files);
  add_machines_option(command, options->machines);
  add_value(command, "--protocols", options->protocols, "PROTOCOLS",
            "constants of NCCL's protocols: a name in platforms/protocols or a path");
  add_runs_option(command, options->runs);
  add_choice<FitKind>(
      command, "--fit", options->fit, "FIT",
      "runs that training predictions are fitted to: {} (default: all; with --json 1gpu); for "
      "runs whose ranks share a model, 1gpu and 1node are the others on the series' fewest GPUs, for "
      "trainings to a target one row of their system");
  add_jobs_option(command, options->jobs, "predictions");
  command.add_flag("--equal-gpus", options->equal_gpus,
                   "no step waits for the slowest of its GPUs: shows how much of the errors this explains");
  command.add_flag("--assumed", options->assumed,
                   "also predict with each assumed value 30 % smaller and 30 % larger, with one fit "
                   "(default: 1gpu); takes minutes");
  command.add_flag("--summary", options->summary, "print curves and families, but not every size and run");
  add_value(command, "--plot", options->plot, "FILE",
            "draw the curves with at least three sizes as SVG into this file");
  add_value(command, "--plot-runs", options->plot_runs, "FILE",
            "draw predicted against measured training runs as SVG into this file");
  add_value(command, "--csv", options->csv, "FILE",
            "write measured, predicted, error and interval of every training run, those whose ranks share a "
            "model too, with one fit (default: 1gpu) into this CSV file");
  add_value(command, "--errors", options->errors, "DIR",
            "write the error of every training run into this folder, a file for each fit, and others for "
            "runs whose ranks share a model; expected errors of predictions come from these");
  add_value(command, "--experiments", options->experiments, "DIR",
            "write every published run of a training step that can be predicted into this folder as an "
            "experiment, with what was measured as a comment");
  add_value(
      command, "--limit", options->limit, "PERCENT",
      "exit with 1 if a mean error exceeds this percentage: for collectives, the mean over "
      "curves from 1 MiB up; for training, over all eligible runs with one fit (default: 1gpu), and over "
      "those whose ranks share a model");
  add_limit_options(command, options->limits);
  command.add_flag("--json", options->json, "print JSON instead of the table; errors are ratios");
  command.add_flag(
      "--force", options->force,
      "replace the files of --plot, --plot-runs, --csv, --errors and --experiments if they exist");
  add_examples(command, {"trainyard validate --summary --fit software",
                         "trainyard validate my_runs.csv --fit 1gpu --plot-runs my_runs.svg"});
  command.callback([options] { validate(*options); });
}

}  // namespace trainyard
