#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/other_commands.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "document/json_text.hpp"
#include "experiment/prediction_error.hpp"
#include "io/out_files.hpp"
#include "lab/commands.hpp"
#include "lab/pages.hpp"
#include "lab/row_options.hpp"
#include "published/assumptions.hpp"
#include "published/case_intervals.hpp"
#include "published/collective_rows.hpp"
#include "published/left_out.hpp"
#include "published/memory_outcomes.hpp"
#include "published/missing_rules.hpp"
#include "published/published_experiments.hpp"
#include "published/published_files.hpp"
#include "published/scores.hpp"
#include "published/target_rows.hpp"
#include "published/validate.hpp"
#include "published/validation.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
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
  std::string left_out = std::string(config::name_of(GroupLeftOut::series));
  std::optional<std::string> errors, experiments, csv, limit;
  LimitOptions limits;
  bool summary = false;
  bool assumed = false;
  bool equal_gpus = false;
  bool force = false;
  PageOptions form;
};

struct RowsByKind {
  std::vector<PublishedRow> collectives;
  std::map<RowKind, std::vector<PublishedRow>> cases;
};

/// Rows with layout columns, about trainings to a target, reports, about collectives, and the others.
RowsByKind by_kind(const std::vector<PublishedRow>& rows) {
  RowsByKind all;
  for (const PublishedRow& row : rows) {
    const RowKind kind = row.layout      ? RowKind::layouts
                         : row.to_target ? RowKind::targets
                         : row.report    ? RowKind::reports
                                         : RowKind::training;
    const bool is_of_curve = kind == RowKind::training && is_about_a_collective(row);
    (is_of_curve ? all.collectives : all.cases[kind]).push_back(row);
  }
  return all;
}

/// The rules of a kind, unless others are named.
std::string rules_of(RowKind kind, const std::string& named) {
  if (kind == RowKind::training || kind == RowKind::reports || named != ValidateOptions{}.runs) return named;
  return kind == RowKind::layouts ? "layouts" : "to_target";
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

/// Why the errors of cases miss the limit: the mean over complete rows of families that count in the totals
/// or, of trainings to a target, that of a family.
std::string missed(const Validation& validation, Fit asked, double limit) {
  const Fit fit = fit_for(validation.kind, asked);
  if (has_totals(validation)) {
    const std::string_view runs =
        validation.kind == RowKind::layouts   ? "run{} whose ranks share a model with fit {}"
        : validation.kind == RowKind::reports ? "complete report{} with fit {}"
                                              : "eligible training run{} with fit {}";
    const auto named = [&](std::string_view plural) {
      return fmt::format(fmt::runtime(runs), plural, config::name_of(fit));
    };
    return missed(named(""), named("s"), errors_of(validation, fit).mape, limit);
  }
  std::string all;
  for (const Family* family : families_of(validation)) {
    const CaseErrors errors = errors_of(validation, fit, {.family = family->name});
    if (errors.rows == 0) continue;  // none of its rows can be claimed
    const std::string rows = fmt::format("rows of {} with fit {}", family->name, config::name_of(fit));
    const std::string about = missed(rows, rows, errors.mape, limit);
    all += (all.empty() || about.empty() ? "" : "\n") + about;
  }
  return all;
}

/// For collectives, the mean over curves from 1 MiB up. `limit` is a ratio. Throws LimitMissed if any mean is
/// above it, if rows of a kind were predicted but none of them is part of the mean, or if nothing was scored
/// at all.
void check_limit(const CollectiveValidation& collectives, const std::vector<Validation>& validations, Fit fit,
                 double limit) {
  std::string all;
  if (!collectives.curves.empty() || validations.empty())
    all = missed("collective from 1 MiB up", "collective curves from 1 MiB up",
                 summary_of(collectives).large.mape, limit);
  for (const Validation& validation : validations) {
    if (validation.cases.empty() && validation.missed.empty() && validation.kind == RowKind::training)
      continue;
    const std::string about = missed(validation, fit, limit);
    all += (all.empty() || about.empty() ? "" : "\n") + about;
  }
  if (!all.empty()) throw LimitMissed(all);
}

/// Names machines and frameworks that no rule recognises, and unknown words of tables in other columns. Their
/// rows are left out, with a warning; it is an error if nothing else is in the files, and so are then models,
/// of which published rows have many others.
void report_missing_rules(std::vector<Diagnostic> missing, bool is_anything_predicted) {
  if (missing.empty()) return;
  for (Diagnostic& each : missing)
    each.severity = is_anything_predicted ? Severity::warning : Severity::error;
  if (!is_anything_predicted) throw InputError(std::move(missing));
  print_diagnostics(missing);
}

/// Refuses --experiments whose files exist, or would be those of two rows.
void check_experiment_files(const ValidateOptions& options, RowsByKind& rows) {
  std::map<std::string, std::string> tables;  // by name of the file
  for (const RowKind kind : {RowKind::training, RowKind::layouts}) {
    for (const PublishedRow& row : rows.cases[kind]) {
      const std::string name = experiment_file(row);
      const auto [known, is_new] = tables.emplace(name, row.file);
      if (!is_new && known->second != row.file)
        throw InputError(fmt::format("'{}' and '{}' would both write {}", known->second, row.file, name),
                         "one of them under another name");
      if (is_new) check_out_file(std::filesystem::path(*options.experiments) / name, options.force);
    }
  }
}

/// The file of --errors for a kind and a fit; nothing if no experiment has such a fit.
std::optional<std::filesystem::path> error_file(const ValidateOptions& options, RowKind kind, Fit fit) {
  const bool is_known =
      kind == RowKind::training ? fit != Fit::one_node : kind == RowKind::layouts && !has_reference(fit);
  if (!is_known) return std::nullopt;
  return std::filesystem::path(*options.errors) /
         fmt::format("{}{}.csv", kind == RowKind::layouts ? layouts_prefix : "", config::name_of(fit));
}

std::filesystem::path curve_error_file(const ValidateOptions& options) {
  return std::filesystem::path(*options.errors) / "collectives.csv";
}

constexpr std::array kinds{RowKind::training, RowKind::layouts, RowKind::targets, RowKind::reports};

/// Refuses files that exist before anything slow is done.
void check_files(const ValidateOptions& options, const std::vector<Fit>& asked) {
  if (options.csv) check_out_file(*options.csv, options.force);
  if (!options.errors) return;
  for (const std::string& file : options.files) {
    if (std::filesystem::path(file).filename().string().find_first_of(",\"\n\r") != std::string::npos)
      throw InputError(
          fmt::format("--errors: '{}' has a comma, a quote or a line break in its name", file),
          "another name: the tables of errors name their rows by file, in a column between commas");
  }
  check_out_file(curve_error_file(options), options.force);
  for (const RowKind kind : kinds) {
    for (const Fit fit : asked) {
      if (const auto file = error_file(options, kind, fit)) check_out_file(*file, options.force);
    }
  }
}

/// The validation of every kind of which there are rows. References are also looked up among the shipped
/// rows.
std::vector<Validation> validated(const config::Catalogue& catalogue, const ValidateOptions& options,
                                  std::map<RowKind, std::vector<PublishedRow>> rows, int parallel,
                                  const PredictionOptions& predictions) {
  std::map<RowKind, std::vector<PublishedRow>> shipped;
  if (!options.files.empty() && !rows.empty()) shipped = by_kind(read_published_files(catalogue, {})).cases;
  if (const auto targets = rows.find(RowKind::targets); targets != rows.end())
    complete_energy_rows(targets->second, shipped[RowKind::targets]);
  std::vector<Validation> validations;
  for (auto& [kind, of_kind] : rows) {
    const auto data = std::make_shared<const PublishedData>(PublishedData{
        .machine_rules = read_machine_rules(catalogue, rules_of(kind, options.machines)),
        .run_rules = read_run_rules(catalogue, rules_of(kind, options.runs)),
        .rows = std::move(of_kind),
        .lookup = kind == RowKind::training || kind == RowKind::layouts ? std::move(shipped[kind])
                                                                        : std::vector<PublishedRow>()});
    validations.push_back(validate_rows(catalogue, kind, data, parallel, predictions));
  }
  return validations;
}

const char* member_of(RowKind kind) {
  if (kind == RowKind::layouts) return "layouts";
  return kind == RowKind::targets ? "targets" : "reports";
}

/// Training if there is any, with the results of the other kinds as members.
nlohmann::ordered_json json_of(const std::vector<Validation>& validations,
                               const CollectiveValidation* collectives, const MemoryValidation* memory,
                               Fit fit) {
  if (validations.empty() && collectives != nullptr) return validation_json(*collectives);
  nlohmann::ordered_json json{{"schema_version", validation_schema_version},
                              {"trainyard_version", version()}};
  for (const Validation& validation : validations) {
    nlohmann::ordered_json part = case_validation_json(validation, fit_for(validation.kind, fit));
    if (validation.kind == RowKind::training)
      json.update(part);
    else
      json[member_of(validation.kind)] = std::move(part);
  }
  if (collectives != nullptr) json["collectives"] = validation_json(*collectives);
  if (memory != nullptr) json["memory"] = memory_outcomes_json(*memory);
  return json;
}

void write_files(const config::Catalogue& catalogue, const ValidateOptions& options,
                 const std::vector<Validation>& validations, const CollectiveValidation* collectives,
                 const std::vector<Fit>& asked, Fit fit) {
  std::vector<nlohmann::ordered_json> tables;
  for (const Validation& validation : validations) {
    if (options.csv) tables.push_back(case_validation_json(validation, fit_for(validation.kind, fit)));
    for (const Fit one : asked) {
      const auto file = options.errors ? error_file(options, validation.kind, one) : std::nullopt;
      if (file) write_out_file(*file, published_errors_text(error_table(validation, one)), options.force);
    }
    if (!options.experiments) continue;
    for (const PublishedExperiment& each : published_experiments(catalogue, validation))
      write_out_file(std::filesystem::path(*options.experiments) / each.file, each.text, options.force);
  }
  if (options.csv) write_out_file(*options.csv, validated_cases_csv(tables), options.force);
  if (collectives == nullptr) return;
  if (options.errors)
    write_out_file(curve_error_file(options), collective_errors_text(collective_errors(*collectives)),
                   options.force);
}

doc::Document document_of(const ValidateOptions& options, const std::vector<Validation>& validations,
                          const CollectiveValidation* collectives,
                          const std::optional<MemoryValidation>& memory, Fit fit) {
  doc::Document page{.title = "Predictions and published measurements", .version = version()};
  if (collectives != nullptr) add_collectives(page, *collectives, options.summary);
  for (const Validation& validation : validations) {
    std::vector<Fit> fits = fits_of(validation.kind);
    if (options.fit) fits = {fit_for(validation.kind, fit)};
    add_cases(page, validation, fits, options.summary);
  }
  if (memory) add_memory_outcomes(page, *memory);
  return page;
}

void validate(const ValidateOptions& options) {
  // read before anything slow
  const double limit = options.limit ? percentage("--limit", *options.limit) : 0;
  std::vector<Fit> asked = fits_of(RowKind::training);
  if (options.fit) asked = {fit_for(RowKind::training, choice<Fit>(*options.fit))};
  const Fit fit = options.fit ? asked.front() : Fit::one_gpu;
  const int parallel = jobs_of(options.jobs);
  const LimitsKept limits(limits_of(options.limits), announce_work);
  check_files(options, asked);
  const config::Catalogue catalogue = config::find_catalogue();
  const MachineRules machines = read_machine_rules(catalogue, options.machines);
  const Protocols constants =
      load_protocols(config::load(config::find(catalogue, config::Kind::protocols, options.protocols)));
  const RunRules runs = read_run_rules(catalogue, options.runs);
  const std::vector<PublishedRow> read = read_published_files(catalogue, options.files);
  RowsByKind rows = by_kind(read);
  if (options.experiments) check_experiment_files(options, rows);
  const bool has_collectives = !rows.collectives.empty();
  std::erase_if(rows.cases, [](const auto& kind) { return kind.second.empty(); });
  if (!has_collectives && rows.cases.empty()) rows.cases[RowKind::training];
  const bool has_training = rows.cases.contains(RowKind::training);
  const auto collective_data = std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = machines, .run_rules = runs, .rows = std::move(rows.collectives)});
  const auto curves = collective_curves(collective_data);
  const CollectiveValidation scored_curves = validate_collectives(catalogue, curves, constants);
  const CollectiveValidation* collectives = has_collectives ? &scored_curves : nullptr;
  const PredictionOptions predictions{
      .equal_gpus = options.equal_gpus, .fits = asked, .left_out = choice<GroupLeftOut>(options.left_out)};
  const std::vector<Validation> validations =
      validated(catalogue, options, std::move(rows.cases), parallel, predictions);
  std::optional<MemoryValidation> memory;
  std::vector<AssumptionEffect> effects;
  if (has_training) {
    const Validation& training = validations.front();
    memory = validate_memory(catalogue, training.data, parallel);
    if (options.assumed) effects = assumption_effects(catalogue, training, parallel, fit, predictions);
  }
  write_files(catalogue, options, validations, collectives, asked, fit);
  if (options.form.json) {
    nlohmann::ordered_json json = json_of(validations, collectives, memory ? &*memory : nullptr, fit);
    if (options.assumed) json["assumptions"] = assumptions_json(effects);
    print_result(json_text(json));
  } else {
    doc::Document page = document_of(options, validations, collectives, memory, fit);
    if (options.assumed) add_assumptions(page, effects, fit);
    print_result(printed_page(options.form, page));
  }
  if (!options.files.empty()) {
    const bool is_anything_predicted =
        !curves.curves.empty() ||
        std::ranges::any_of(validations, [](const Validation& one) { return !one.cases.empty(); });
    report_missing_rules(
        missing_rules(read, *collective_data, has_training ? *validations.front().data : PublishedData(),
                      !is_anything_predicted),
        is_anything_predicted);
  }
  if (options.limit) check_limit(scored_curves, validations, fit, limit);
}

}  // namespace

void add_validate(CLI::App& program) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App& command = add_command(program, validate_command);
  add_measurements_argument(command, options->files);
  add_machines_option(command, options->machines);
  add_value(command, "--protocols", options->protocols, "PROTOCOLS",
            "constants of NCCL's protocols: a name in platforms/protocols or a path");
  add_runs_option(command, options->runs);
  add_choice<Fit>(
      command, "--fit", options->fit, "FIT",
      "runs that training predictions are fitted to: {} (default: all; with --json 1gpu); for "
      "runs whose ranks share a model, 1gpu and 1node are the others on the series' fewest GPUs, for "
      "trainings to a target one row of their system");
  add_choice<GroupLeftOut>(
      command, "--left-out", options->left_out, "PROPERTY",
      "runs that have no part in a run's prediction and interval: those with which it shares "
      "a property: {}");
  add_jobs_option(command, options->jobs, "predictions");
  command.add_flag("--equal-gpus", options->equal_gpus,
                   "no step waits for the slowest of its GPUs: shows how much of the errors this explains");
  command.add_flag("--assumed", options->assumed,
                   "also predict with each assumed value 30 % smaller and 30 % larger, with one fit "
                   "(default: 1gpu); takes minutes");
  command.add_flag("--summary", options->summary, "print curves and families, but not every size and run");
  add_value(command, "--csv", options->csv, "FILE",
            "write measured, predicted, error and interval of every training run, those whose ranks share a "
            "model and reports too, with one fit (default: 1gpu) into this CSV file");
  add_value(command, "--errors", options->errors, "DIR",
            "write the error of every training run into this folder, a file for each fit, and others for "
            "runs whose ranks share a model; expected errors of predictions come from these");
  add_value(command, "--experiments", options->experiments, "DIR",
            "write every published run of a training step that can be predicted into this folder as an "
            "experiment, with what was measured as a comment");
  add_value(command, "--limit", options->limit, "PERCENT",
            "exit with 1 if a mean error exceeds this percentage: for collectives, the mean over "
            "curves from 1 MiB up; for training, over all eligible runs with one fit (default: 1gpu), over "
            "those whose ranks share a model, and over complete reports with an experiment each");
  add_limit_options(command, options->limits);
  add_form_options(command, options->form, "print JSON instead of the tables; errors are ratios");
  command.add_flag("--force", options->force,
                   "replace the files of --csv, --errors and --experiments if they exist");
  add_examples(command, {"trainyard validate --summary --fit software",
                         "trainyard validate my_runs.csv --fit 1gpu --csv scores.csv"});
  command.callback([options] { validate(*options); });
}

}  // namespace trainyard
