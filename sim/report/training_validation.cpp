#include "report/training_validation.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"
#include "published/run_error_table.hpp"
#include "published/run_errors.hpp"
#include "report/interval_report.hpp"
#include "report/json_text.hpp"
#include "report/ratio_error.hpp"
#include "report/text_layout.hpp"
#include "units/statistics.hpp"
#include "units/table.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

/// Families of the runs, in the order of the rules that name them; those that count in the totals first.
std::vector<const FamilyRule*> families_of(const TrainingValidation& validation) {
  std::set<std::string> present;
  for (const ScoredRun& run : validation.runs)
    present.emplace(run.family == nullptr ? "" : run.family->family);
  for (const MissedRow& row : validation.missed)
    present.emplace(row.family == nullptr ? "" : row.family->family);
  std::vector<const FamilyRule*> families;
  for (const bool counts : {true, false}) {
    for (const FamilyRule& rule : validation.data->run_rules.families) {
      // several rules may have the same family
      if (rule.not_in_totals.empty() == counts && present.erase(rule.family) > 0) families.push_back(&rule);
    }
  }
  return families;
}

/// `heads`: without them the columns are those of the table before.
Table family_table(bool has_heads = true) {
  Table table({text_column(40).wraps(16), number_column(4), number_column(5), number_column(6).drops(5),
               number_column(5).drops(7), number_column(5).drops(4), number_column(5), number_column(6),
               number_column(8).drops(3), number_column(6).drops(2), number_column(8).drops(1)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  if (has_heads)
    table.row("family", "runs", "MAPE", "median", "p90", "worst", "bias", "linear", "coverage", "of all",
              "MAPE all");
  return table;
}

void add_line(Table& table, std::string_view name, const RunErrors& errors) {
  if (errors.rows == 0 && !errors.coverage_of_all) return;
  table.row(name, errors.rows, percent_cell(errors.mape), percent_cell(errors.median),
            percent_cell(errors.p90), percent_cell(errors.worst), signed_cell(errors.bias),
            percent_cell(errors.linear), percent_cell(errors.coverage), percent_cell(errors.coverage_of_all),
            percent_cell(errors.with_excluded));
}

constexpr std::string_view implausible_in_words =
    "incomplete: the source does not say everything; implausible: left out by rules R7 and R8 of "
    "workloads/published/README.md";
constexpr std::string_view meanings_of_columns[] = {
    "bias: mean error with its sign, above 0 if predictions are too fast",
    "linear: mean error of the published run that is fitted to, times the number of GPUs",
    "coverage: predicted share of the eligible runs; of all: the same, counting runs without one to fit to",
    "MAPE all: with the runs that were left out, each with its error of linear scaling",
    implausible_in_words};

void add_fit(std::string& text, const TrainingValidation& validation, FitKind fit, const PrintStyle& style) {
  const auto row = std::ranges::find(config::Names<FitKind>::table, fit, &config::Name<FitKind>::value);
  text +=
      '\n' + comment(fmt::format("fit {}: {}; errors of throughput in %", row->text, row->doc), style.width);
  Table table = family_table();
  for (const FamilyRule* family : families_of(validation)) {
    const std::string mark = family->not_in_totals.empty() ? "" : " (not in totals)";
    add_line(table, family->family + mark,
             errors_of(validation, fit, {.family = family->family, .is_incomplete = false}));
    add_line(table, family->family + ", incomplete" + mark,
             errors_of(validation, fit, {.family = family->family, .is_incomplete = true}));
  }
  add_line(table, "all runs", errors_of(validation, fit, {}));
  add_line(table, "all runs, also implausible ones",
           errors_of(validation, fit, {.leave_out_implausible = false}));
  add_line(table, "all runs with incomplete sources", errors_of(validation, fit, {.is_incomplete = true}));
  text += table.text(style.width);
}

/// How many published pairs lie in the interval that `compare` prints.
void add_ratio_intervals(std::string& text, const TrainingValidation& validation, FitKind fit,
                         const PrintStyle& style) {
  const auto coverages = pair_coverage(validation, fit);
  if (coverages.empty()) return;
  text +=
      '\n' + comment(fmt::format("expected error of comparisons with fit {}: share of the published pairs "
                                 "inside the interval that 80 % should lie in, each given by other series; "
                                 "median half widths of these intervals, and of the wider one of the two "
                                 "runs alone; in %",
                                 config::name_of(fit)),
                     style.width);
  Table table(
      {text_column(40).wraps(16), number_column(5), number_column(7), number_column(11), number_column(10)},
      {.indent = 0, .gap = 1});
  table.row("pairs differ in", "pairs", "inside", "half width", "one run");
  for (const RatioCoverage& its : coverages) {
    table.row(words_of(its.change), its.pairs, percent_cell(its.covered), percent_cell(its.half_width),
              percent_cell(its.run_half_width));
  }
  text += table.text(style.width);
}

nlohmann::ordered_json ratio_intervals_json(const TrainingValidation& validation, FitKind fit) {
  const auto coverages = pair_coverage(validation, fit);
  if (coverages.empty()) return nullptr;
  nlohmann::ordered_json changes = nlohmann::ordered_json::object();
  for (const RatioCoverage& its : coverages) {
    changes[std::string(config::name_of(its.change))] = {{"pairs", its.pairs},
                                                         {"coverage", its.covered},
                                                         {"median_half_width", its.half_width},
                                                         {"median_half_width_of_runs", its.run_half_width}};
  }
  return {{"share", expected_share}, {"changes", std::move(changes)}};
}

std::string_view family_name(const ScoredRun& scored) {
  return scored.family == nullptr ? std::string_view("none") : std::string_view(scored.family->family);
}

std::string place_of(const ScoredRun& scored) {
  const PublishedRow& row = *scored.run.row;
  return fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line);
}

std::string error_or_dash(const ScoredRun& scored, FitKind fit) {
  return signed_cell(scored.is_scored(fit) ? std::optional(scored.error(fit)) : std::nullopt);
}

void add_runs(std::string& text, const TrainingValidation& validation, const PrintStyle& style) {
  text += comment("runs: published samples per second, errors of the predictions in %", style.width);
  Table table(
      {text_column(24).wraps(16), text_column(22).wraps(10).drops(4), text_column(24).wraps(10).drops(1),
       text_column(16).wraps(8), text_column(8).named("precision").drops(2), number_column(6).drops(5),
       number_column(5), number_column(10).drops(3), number_column(8), number_column(8), number_column(7),
       number_column(7)},
      {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("run", "platform", "stack", "model", "", "batch", "GPUs", "measured", "nothing", "software",
            "1gpu", "1node");
  for (const ScoredRun& scored : validation.runs) {
    const PublishedRun& run = scored.run;
    table.row(place_of(scored), run.machine->platform, run.stack->stack, run.model->model,
              config::name_of(run.measured.precision),
              run.measured.accumulation == 1
                  ? std::to_string(run.measured.batch_per_gpu)
                  : fmt::format("{}x{}", run.measured.batch_per_gpu, run.measured.accumulation),
              run.row->gpus_total,
              scored.predicted.measured ? fmt::format("{:.5g}", *scored.predicted.measured) : "-",
              error_or_dash(scored, FitKind::nothing), error_or_dash(scored, FitKind::software),
              error_or_dash(scored, FitKind::one_gpu), error_or_dash(scored, FitKind::one_node));
  }
  text += table.text(style.width);
}

bool is_always_named(const ScoredRun& scored) {
  return scored.outlier != nullptr && scored.outlier->always_named;
}

/// Scored runs of a fit with a large error or always named by a rule, the worst first.
std::vector<const ScoredRun*> outliers_of(const TrainingValidation& validation, FitKind fit) {
  std::vector<const ScoredRun*> found;
  for (const ScoredRun& scored : validation.runs) {
    if (!scored.counts(fit)) continue;
    if (std::abs(scored.error(fit)) > far_off_run || is_always_named(scored)) found.push_back(&scored);
  }
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [&](const ScoredRun* run) { return std::abs(run->error(fit)); });
  return found;
}

std::string_view suspicion_of(const ScoredRun& scored) {
  return scored.outlier == nullptr ? std::string_view("unknown cause")
                                   : std::string_view(scored.outlier->reason);
}

/// Grouped by cause, the group with the worst run first.
void add_outliers(std::string& text, const TrainingValidation& validation, FitKind fit,
                  const PrintStyle& style) {
  std::vector<const ScoredRun*> outliers = outliers_of(validation, fit);
  if (outliers.empty()) return;
  text +=
      '\n' + comment(fmt::format("runs with errors above {:.0f} % with fit {}, or named by a rule, with the "
                                 "suspected cause",
                                 100 * far_off_run, config::name_of(fit)),
                     style.width);
  const auto cause_of = [](const ScoredRun* scored) {
    return fmt::format("{}{}", is_always_named(*scored) ? "always named: " : "", suspicion_of(*scored));
  };
  for (std::span<const ScoredRun*> left = outliers; !left.empty();) {
    const std::string cause = cause_of(left.front());
    const std::span<const ScoredRun*> others =
        std::ranges::stable_partition(left, [&](const ScoredRun* run) { return cause_of(run) == cause; });
    text += hanging("  ", cause, style.width);
    for (const ScoredRun* scored : left.first(left.size() - others.size())) {
      const PublishedRow& row = *scored->run.row;
      text += hanging(fmt::format("{:>9}  ", signed_cell(scored->error(fit))),
                      fmt::format("{} {} GPUs, {}, {}, {}, batch {}", place_of(*scored), row.gpus_total,
                                  row.framework, row.model, row.precision, row.batch_per_gpu),
                      style.width);
    }
    left = others;
  }
}

/// Nothing is fitted to the runs of a stack on several GPUs, so each is predicted without knowledge of it.
void add_stacks(std::string& text, const TrainingValidation& validation, FitKind fit,
                const PrintStyle& style) {
  std::set<std::string> stacks;
  for (const ScoredRun& scored : validation.runs) stacks.insert(scored.run.stack->stack);
  text += '\n' + comment(fmt::format("errors by stack with fit {}, over the runs in the totals",
                                     config::name_of(fit)),
                         style.width);
  Table table = family_table(false);
  for (const std::string& stack : stacks) {
    const RunErrors errors = errors_of(validation, fit, {.stack = stack});
    if (errors.rows > 0) add_line(table, stack, errors);
  }
  text += table.text(style.width);
}

/// Rows left out by a fit, including those that no fit uses.
std::map<std::string, int> excluded_by(const TrainingValidation& validation, FitKind fit) {
  std::map<std::string, int> reasons = validation.excluded;
  for (const ScoredRun& scored : validation.runs) {
    const Verdict& verdict = scored.verdict(fit);
    if (!verdict.excluded.empty())
      ++reasons[verdict.excluded];
    else if (!verdict.outcome.empty())
      ++reasons[verdict.outcome];
  }
  return reasons;
}

nlohmann::ordered_json errors_json(const RunErrors& errors) {
  return {{"rows", errors.rows},
          {"mape", number_or_null(errors.mape)},
          {"median", number_or_null(errors.median)},
          {"p90", number_or_null(errors.p90)},
          {"worst", number_or_null(errors.worst)},
          {"bias", number_or_null(errors.bias)},
          {"coverage", number_or_null(errors.coverage)},
          {"coverage_of_all", number_or_null(errors.coverage_of_all)},
          {"linear_mape", number_or_null(errors.linear)},
          {"mape_with_excluded", number_or_null(errors.with_excluded)}};
}

nlohmann::ordered_json families_json(const TrainingValidation& validation, FitKind fit, bool is_incomplete) {
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const FamilyRule* family : families_of(validation)) {
    const RunErrors errors =
        errors_of(validation, fit, {.family = family->family, .is_incomplete = is_incomplete});
    if (errors.rows == 0 && !errors.coverage_of_all) continue;
    families[family->family] = errors_json(errors);
    if (!family->not_in_totals.empty()) families[family->family]["not_in_totals"] = family->not_in_totals;
  }
  return families;
}

nlohmann::ordered_json row_json(const ScoredRun& scored, FitKind fit,
                                const std::optional<RunInterval>& interval) {
  const PublishedRun& run = scored.run;
  const Prediction& prediction = scored.predicted.by_fit[fit];
  const Verdict& verdict = scored.verdict(fit);
  nlohmann::ordered_json row{{"file", run.row->file},
                             {"line", run.row->line},
                             {"family", family_name(scored)},
                             {"incomplete", run.row->clean == "partial"},
                             {"platform", run.machine->platform},
                             {"model", run.model->model},
                             {"stack", run.stack->stack},
                             {"precision", config::name_of(run.measured.precision)},
                             {"batch_per_gpu", run.measured.batch_per_gpu},
                             {"accumulation", run.measured.accumulation},
                             {"gpus", run.row->gpus_total},
                             {"nodes", run.row->nodes},
                             {"unit", "samples/s"},
                             {"measured", number_or_null(scored.predicted.measured)},
                             {"predicted", number_or_null(prediction.throughput)},
                             {"compute_scale", prediction.compute_scale},
                             {"linear_from_one_gpu", number_or_null(scored.predicted.linear_from_one_gpu)},
                             {"linear_from_one_node", number_or_null(scored.predicted.linear_from_one_node)}};
  const bool counts = scored.is_scored(fit);
  row["error"] = counts ? nlohmann::ordered_json(scored.error(fit)) : nlohmann::ordered_json(nullptr);
  add_interval(row, interval);
  row["scored"] = counts && verdict.outcome.empty();
  const std::string& reason = verdict.excluded.empty() ? verdict.outcome : verdict.excluded;
  if (!reason.empty()) row["excluded"] = reason;
  return row;
}

/// The errors of a baseline over the runs that the fit scores.
nlohmann::ordered_json baseline_json(const TrainingValidation& validation, FitKind fit, FitKind fitted_to) {
  const RunErrors errors = errors_of(validation, fit, {});
  std::vector<double> its;
  for (const ScoredRun& scored : validation.runs) {
    const bool counts = scored.counts(fit) && scored.run.row->clean != "partial";
    const std::optional<double>& line = fitted_to == FitKind::one_node ? scored.predicted.linear_from_one_node
                                                                       : scored.predicted.linear_from_one_gpu;
    if (counts && line) its.push_back(std::abs(*line / *scored.predicted.measured - 1));
  }
  return {{"rows", its.size()},
          {"mape", its.empty() ? number_or_null({}) : number_or_null(mean(its))},
          {"of_rows", errors.rows}};
}

}  // namespace

std::string training_validation_table(const TrainingValidation& validation, const std::vector<FitKind>& asked,
                                      bool only_families, const PrintStyle& style) {
  std::string text;
  if (!only_families) add_runs(text, validation, style);
  text += '\n';
  for (const std::string_view meaning : meanings_of_columns) text += comment(meaning, style.width);
  for (const FitKind fit : asked) add_fit(text, validation, fit, style);
  for (const FitKind fit : asked)
    text += interval_table(interval_coverage(validation, fit),
                           fmt::format("expected error with fit {}", config::name_of(fit)), "series",
                           "all runs", style);
  for (const FitKind fit : asked) add_ratio_intervals(text, validation, fit, style);
  for (const FitKind fit : asked) {
    if (fit == FitKind::one_gpu) add_stacks(text, validation, fit, style);
  }
  for (const FitKind fit : asked) {
    if (fit != FitKind::nothing) add_outliers(text, validation, fit, style);
  }
  for (const FitKind fit : asked) {
    text += fmt::format("\n# published runs left out with fit {}\n", config::name_of(fit));
    for (const auto& [reason, count] : excluded_by(validation, fit))
      text += hanging(fmt::format("{:>8}  ", count), reason, style.width);
  }
  return text;
}

nlohmann::ordered_json training_validation_json(const TrainingValidation& validation, FitKind fit) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto intervals = run_intervals(validation, fit);
  for (std::size_t i = 0; i < validation.runs.size(); ++i)
    rows.push_back(row_json(validation.runs[i], fit, intervals[i]));
  nlohmann::ordered_json excluded = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : excluded_by(validation, fit)) excluded[reason] = count;
  nlohmann::ordered_json outliers = nlohmann::ordered_json::array();
  for (const ScoredRun* scored : outliers_of(validation, fit)) {
    outliers.push_back({{"file", scored->run.row->file},
                        {"line", scored->run.row->line},
                        {"error", scored->error(fit)},
                        {"reason", suspicion_of(*scored)},
                        {"always_named", is_always_named(*scored)}});
  }
  nlohmann::ordered_json overall = errors_json(errors_of(validation, fit, {}));
  overall["with_implausible"] = errors_json(errors_of(validation, fit, {.leave_out_implausible = false}));
  overall["incomplete"] = errors_json(errors_of(validation, fit, {.is_incomplete = true}));
  return {{"fit", config::name_of(fit)},
          {"overall", std::move(overall)},
          {"families", families_json(validation, fit, false)},
          {"families_incomplete", families_json(validation, fit, true)},
          {"baselines",
           {{"linear_from_one_gpu", baseline_json(validation, fit, FitKind::one_gpu)},
            {"linear_from_one_node", baseline_json(validation, fit, FitKind::one_node)}}},
          {"expected_error", intervals_json(interval_coverage(validation, fit))},
          {"ratio_error", ratio_intervals_json(validation, fit)},
          {"rows", std::move(rows)},
          {"outliers", std::move(outliers)},
          {"excluded", std::move(excluded)}};
}

}  // namespace trainyard
