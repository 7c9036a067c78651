#include "accuracy/expected_error.hpp"
#include "accuracy/run_change.hpp"
#include "config/keys.hpp"
#include "lab/case_validation.hpp"
#include "lab/validation_parts.hpp"
#include "published/case_intervals.hpp"
#include "published/layout_pairs.hpp"
#include "published/scores.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

std::string_view title_of(RowKind kind) {
  switch (kind) {
    case RowKind::training:
      return "training runs";
    case RowKind::layouts:
      return "runs whose ranks share a model";
    case RowKind::targets:
      return "trainings to a target";
    case RowKind::reports:
      return "reports with an experiment each";
  }
  return {};
}

/// Without heads the columns are those of the table before.
Table family_table(bool has_heads = true) {
  Table table({text_column(40).wraps(16), number_column(4), number_column(5), number_column(6).drops(5),
               number_column(5).drops(7), number_column(5).drops(4), number_column(5), number_column(6),
               number_column(8).drops(3), number_column(6).drops(2), number_column(8).drops(1)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  if (has_heads)
    table.row("family", "rows", "MAPE", "median", "p90", "worst", "bias", "linear", "coverage", "of all",
              "MAPE all");
  return table;
}

void add_line(Table& table, std::string_view name, const CaseErrors& errors) {
  if (errors.rows == 0 && !errors.coverage_of_all) return;
  table.row(name, errors.rows, percent_cell(errors.mape), percent_cell(errors.median),
            percent_cell(errors.p90), percent_cell(errors.worst), signed_cell(errors.bias),
            percent_cell(errors.linear), percent_cell(errors.coverage), percent_cell(errors.coverage_of_all),
            percent_cell(errors.with_excluded));
}

constexpr std::string_view meanings_of_columns[] = {
    "bias: mean error with its sign, above 0 if predictions are too large",
    "linear: mean error of the published run that is fitted to, times the number of GPUs",
    "coverage: predicted share of the eligible rows; of all: the same, counting rows without one to fit to",
    "MAPE all: with the rows that were left out, each with its error of linear scaling",
    "incomplete: the source does not say everything",
    "implausible: left out by rules R7 and R8 of workloads/published/README.md"};

void add_fit(std::string& text, const Validation& validation, Fit fit, const PrintStyle& style) {
  const auto row = std::ranges::find(config::Names<Fit>::table, fit, &config::Name<Fit>::value);
  const std::string fitted = validation.kind == RowKind::reports
                                 ? "predicted as `run` does it, fitted to no report"
                                 : fmt::format("fit {}: {}", row->text, row->doc);
  text += '\n' + comment(fitted + "; errors in %", style.width);
  Table table = family_table();
  for (const Family* family : families_of(validation)) {
    const std::string mark = family->not_in_totals.empty() ? "" : " (not in totals)";
    add_line(table, family->name + mark,
             errors_of(validation, fit, {.family = family->name, .is_incomplete = false}));
    add_line(table, family->name + ", incomplete" + mark,
             errors_of(validation, fit, {.family = family->name, .is_incomplete = true}));
  }
  if (has_totals(validation)) {
    add_line(table, "all runs", errors_of(validation, fit));
    if (validation.kind == RowKind::training) {
      add_line(table, "all runs, also implausible ones",
               errors_of(validation, fit, {.leave_out_implausible = false}));
    }
    add_line(table, "all runs with incomplete sources", errors_of(validation, fit, {.is_incomplete = true}));
  }
  text += table.text(style.width);
}

/// How many cases lie in the interval that `run` prints for them.
void add_intervals(std::string& text, const Validation& validation, Fit fit, const PrintStyle& style) {
  const IntervalCoverages coverages = interval_coverage(validation, fit);
  if (coverages.families.empty()) return;
  const std::string held_out =
      validation.kind == RowKind::reports
          ? "incomplete sources count, with the widest interval over the ends of their ranges"
          : fmt::format(
                "held out: the same without the published errors of the row's own {}, in the last lines "
                "by the distance of the runs that it comes from",
                validation.kind == RowKind::layouts && validation.left_out == GroupLeftOut::series
                    ? "family"
                    : config::name_of(validation.left_out));
  text +=
      '\n' +
      comment(fmt::format(
                  "expected error with fit {}: share of the rows inside the interval that `run` prints for "
                  "them, which is meant to hold {:.0f} %, and its median half width; {}; in %",
                  config::name_of(fit), 100 * expected_share, held_out),
              style.width);
  Table table({text_column(40).wraps(16), number_column(4), number_column(7), number_column(11),
               number_column(8), number_column(11)},
              {.indent = 0, .gap = 1});
  table.row("family", "rows", "inside", "half width", "held out", "half width");
  const auto add = [&](const IntervalCoverage& its) {
    const bool is_held_out = its.held_out_rows > 0;
    table.row(its.name.empty() ? "all runs" : its.name, its.rows, percent_cell(its.covered),
              percent_cell(its.half_width), is_held_out ? percent_cell(its.held_out_covered) : "-",
              is_held_out ? percent_cell(its.held_out_half_width) : "-");
  };
  std::ranges::for_each(coverages.families, add);
  if (has_totals(validation) && coverages.all) add(*coverages.all);
  std::ranges::for_each(coverages.quarters, add);
  text += table.text(style.width);
  if (validation.kind != RowKind::reports) return;
  int inside = 0;
  int all = 0;
  for (const ScoredCase& scored : validation.cases) {
    const std::optional<bool> is_in = is_inside_without_ranges(scored, fit);
    if (!is_in || !scored.counts(fit)) continue;
    ++all;
    inside += *is_in ? 1 : 0;
  }
  text += comment(fmt::format("{} of {} runs are inside without their ranges", inside, all), style.width);
}

/// How many published pairs lie in the interval that `compare` prints.
void add_ratio_intervals(std::string& text, const Validation& validation, Fit fit, const PrintStyle& style) {
  const auto coverages = pair_coverage(validation, fit);
  if (coverages.empty()) return;
  text += '\n' +
          comment(fmt::format("expected error of comparisons with fit {}: share of the published pairs "
                              "inside the interval that {:.0f} % should lie in, each given by other series; "
                              "median half widths of these intervals, and of the wider one of the two "
                              "runs alone; in %",
                              config::name_of(fit), 100 * expected_share),
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

std::string layout_in_words(const CaseLayout& layout) {
  const Parallelism& its = layout.parallelism;
  std::string text = fmt::format("t{} p{}", its.tensor, its.pipeline);
  if (its.virtual_stages > 1) text += fmt::format(" v{}", its.virtual_stages);
  return text + fmt::format(" d{}", layout.replicas);
}

/// How the model is trained, or which figure of a training to a target is predicted.
std::string job_in_words(const Case& of) {
  if (of.figure != CaseFigure::throughput) return std::string(config::name_of(of.figure));
  return of.layout ? layout_in_words(*of.layout) : std::string(config::name_of(of.precision));
}

std::string batch_in_words(const Case& of) {
  return of.micro_batches == 1 ? std::to_string(of.batch_per_gpu)
                               : fmt::format("{}x{}", of.batch_per_gpu, of.micro_batches);
}

void add_cases(std::string& text, const Validation& validation, const PrintStyle& style) {
  text += comment(
      fmt::format("{}: published figures (throughputs in samples per second of all GPUs), errors of the "
                  "predictions in %",
                  title_of(validation.kind)),
      style.width);
  const std::vector<Fit> fits = fits_of(validation.kind);
  std::vector<TableColumn> columns{text_column(24).wraps(16),
                                   text_column(22).wraps(10).drops(4),
                                   text_column(24).wraps(10).drops(1),
                                   text_column(16).wraps(8),
                                   text_column(8).named("job").drops(2),
                                   number_column(6).drops(5),
                                   number_column(5),
                                   number_column(10).drops(3)};
  std::vector<std::string> heads{"row", "platform", "stack", "model", "", "batch", "GPUs", "measured"};
  for (const Fit fit : fits) {
    columns.push_back(number_column(8));
    heads.emplace_back(config::name_of(fit));
  }
  Table table(columns, {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.add(heads);
  for (const ScoredCase& scored : validation.cases) {
    const Case& of = scored.of;
    if (is_memory(of.figure)) continue;
    std::vector<std::string> cells{
        place_of(*of.row),
        of.machine == nullptr ? "-" : of.platform_name(),
        of.stack == nullptr ? "-" : of.stack_name(),
        of.model_name(),
        job_in_words(of),
        of.machine == nullptr ? of.row->global_batch : batch_in_words(of),
        std::to_string(of.row->gpus_total),
        scored.predicted.measured ? fmt::format("{:.5g}", *scored.predicted.measured) : "-"};
    for (const Fit fit : fits)
      cells.push_back(signed_cell(scored.is_scored(fit) ? std::optional(scored.error(fit)) : std::nullopt));
    table.add(cells);
  }
  text += table.text(style.width);
}

/// The ends of a report's ranges have a column of their own.
void add_reports(std::string& text, const Validation& validation, const PrintStyle& style) {
  if (validation.cases.empty()) return;
  text += comment(
      fmt::format("{}: measured and predicted samples per second of all GPUs, GB/s of collectives, GB "
                  "of memory, or 1 if a run fits into it and 0 if not; at both ends: predictions with the "
                  "lowest and the highest values of what the source omits; error in %; inside the expected "
                  "error",
                  title_of(validation.kind)),
      style.width);
  Table table({text_column(35).wraps(16), text_column(16).wraps(8).drops(1), number_column(5).drops(2),
               number_column(8), number_column(9), text_column(12), number_column(6), text_column(6)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("report", "platform", "GPUs", "measured", "predicted", "at both ends", "error", "inside");
  constexpr Fit fit = Fit::software;
  const auto intervals = case_intervals(validation, fit);
  std::map<std::string, int> without_ends;  // reports by reason
  for (std::size_t i = 0; i < validation.cases.size(); ++i) {
    const ScoredCase& scored = validation.cases[i];
    const CaseFigure figure = scored.of.figure;
    constexpr double giga = 1e9;
    const bool is_in_giga = figure == CaseFigure::bus_bandwidth || (is_memory(figure) && !is_verdict(figure));
    const auto number = [&](const std::optional<double>& value) {
      return value ? fmt::format("{:.5g}", is_in_giga ? *value / giga : *value) : std::string("-");
    };
    const auto [low, high] = ends_of(scored.predicted);
    const bool has_error = scored.is_scored(fit) && !is_verdict(figure);
    std::string inside = "-";
    if (intervals[i]) inside = is_inside(*intervals[i]) ? "yes" : "no";
    const std::string& id = scored.of.row->report->id;
    const int gpus = scored.of.row->gpus_total;
    if (!scored.predicted.without_ends.empty()) ++without_ends[scored.predicted.without_ends];
    table.row(id.empty() ? place_of(*scored.of.row) : id, scored.of.platform_name(),
              gpus > 0 ? std::to_string(gpus) : "-", number(scored.predicted.measured),
              number(scored.predicted.by_fit[fit].value),
              low ? fmt::format("{} to {}", number(low), number(high)) : "",
              signed_cell(has_error ? std::optional(scored.error(fit)) : std::nullopt), inside);
  }
  text += table.text(style.width);
  if (without_ends.empty()) return;
  text += comment("reports whose ranges are not used, since an end cannot be run", style.width);
  text += reasons_text(without_ends, style);
}

/// Grouped by cause, the group with the worst case first.
void add_outliers(std::string& text, const Validation& validation, Fit fit, const PrintStyle& style) {
  std::vector<const ScoredCase*> outliers = outliers_of(validation, fit);
  if (outliers.empty()) return;
  text +=
      '\n' + comment(fmt::format("rows with errors above {:.0f} % with fit {}, or named by a rule, with the "
                                 "suspected cause",
                                 100 * far_off_run, config::name_of(fit)),
                     style.width);
  const auto cause_of = [](const ScoredCase* scored) {
    return fmt::format("{}{}", is_always_named(*scored) ? "always named: " : "", suspicion_of(*scored));
  };
  for (std::span<const ScoredCase*> left = outliers; !left.empty();) {
    const std::string cause = cause_of(left.front());
    const std::span<const ScoredCase*> others =
        std::ranges::stable_partition(left, [&](const ScoredCase* run) { return cause_of(run) == cause; });
    text += hanging("  ", cause, style.width);
    for (const ScoredCase* scored : left.first(left.size() - others.size())) {
      const PublishedRow& row = *scored->of.row;
      text += hanging(fmt::format("{:>9}  ", signed_cell(scored->error(fit))),
                      fmt::format("{} {} GPUs, {}, {}, {}, batch {}", place_of(row), row.gpus_total,
                                  row.framework, row.model, row.precision, row.batch_per_gpu),
                      style.width);
    }
    left = others;
  }
}

/// Nothing is fitted to the runs of a stack on several GPUs, so each is predicted without knowledge of it.
void add_stacks(std::string& text, const Validation& validation, Fit fit, const PrintStyle& style) {
  std::set<std::string> stacks;
  for (const ScoredCase& scored : validation.cases) stacks.insert(scored.of.stack_name());
  text += '\n' + comment(fmt::format("errors by stack with fit {}, over the runs in the totals",
                                     config::name_of(fit)),
                         style.width);
  Table table = family_table(false);
  for (const std::string& stack : stacks) {
    const CaseErrors errors = errors_of(validation, fit, {.stack = stack});
    if (errors.rows > 0) add_line(table, stack, errors);
  }
  text += table.text(style.width);
}

void add_pairs(std::string& text, const Validation& validation, const std::vector<Fit>& fits,
               const PrintStyle& style) {
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  if (pairs.empty()) return;
  text +=
      '\n' + comment(
                 "pairs of these runs that differ in one setting: mean change of the step, and mean error "
                 "of the predicted change, in % of the step",
                 style.width);
  Table table(
      {text_column(44).wraps(16), text_column(9), number_column(5), number_column(8), number_column(6)},
      {.indent = 0, .gap = 1});
  table.row("pairs differ in", "fit", "pairs", "change", "error");
  for (const PairSetting setting : pair_settings) {
    std::string_view name = config::name_of(setting);
    for (const Fit fit : fits) {
      const PairErrors errors = errors_of(pairs, setting, fit);
      if (errors.pairs == 0) continue;
      table.row(name, config::name_of(fit), errors.pairs, percent_cell(errors.change),
                percent_cell(errors.error));
      name = "";
    }
  }
  text += table.text(style.width);
}

void add_memory(std::string& text, const Validation& validation, Fit fit, const PrintStyle& style) {
  const MemoryVerdicts verdicts = verdicts_of(validation);
  text += '\n';
  if (verdicts.ran + verdicts.failed > 0)
    text += comment(fmt::format("memory of these runs: {} of {} that ran are predicted to fit, {} of {} that "
                                "ran out of memory are not",
                                verdicts.accepted, verdicts.ran, verdicts.refused, verdicts.failed),
                    style.width);
  const auto is_size = [](const ScoredCase& scored) {
    return is_memory(scored.of.figure) && !is_verdict(scored.of.figure);
  };
  if (std::ranges::none_of(validation.cases, is_size)) return;
  text += "# errors of published sizes of memory in %\n";
  Table table = family_table();
  for (const auto& [name, figure, unit] : config::Names<CaseFigure>::table) {
    if (!is_memory(figure) || is_verdict(figure)) continue;
    const CaseErrors errors = errors_of(validation, fit, {.figure = figure});
    if (errors.rows > 0) add_line(table, name, errors);
  }
  text += table.text(style.width);
  const IntervalCoverages coverages = interval_coverage(validation, fit);
  if (coverages.sizes)
    text += comment(
        fmt::format("{} % of {} lie in the interval that `run` prints: measured {} to {} % of predicted",
                    percent_cell(coverages.sizes->covered), plural(coverages.sizes->rows, "size"),
                    whole_percent(memory_bounds.low), whole_percent(memory_bounds.high)),
        style.width);
}

}  // namespace

std::string case_validation_text(const Validation& validation, const std::vector<Fit>& fits,
                                 bool only_families, const PrintStyle& style) {
  const bool is_training = validation.kind == RowKind::training;
  std::string text;
  if (!only_families && validation.kind == RowKind::reports)
    add_reports(text, validation, style);
  else if (!only_families)
    add_cases(text, validation, style);
  text += '\n' + comment(std::string(title_of(validation.kind)), style.width);
  if (is_training) {
    for (const std::string_view meaning : meanings_of_columns)
      text += comment(std::string(meaning), style.width);
  }
  for (const Fit fit : fits) add_fit(text, validation, fit, style);
  for (const Family* family : families_of(validation)) {
    if (!family->not_in_totals.empty() && !is_training)
      text += comment(fmt::format("{}, not in totals: {}", family->name, family->not_in_totals), style.width);
  }
  for (const Fit fit : fits) add_intervals(text, validation, fit, style);
  for (const Fit fit : fits) add_ratio_intervals(text, validation, fit, style);
  for (const Fit fit : fits) {
    if (fit == Fit::one_gpu) add_stacks(text, validation, fit, style);
  }
  for (const Fit fit : fits) {
    if (fit != Fit::nothing && is_training) add_outliers(text, validation, fit, style);
  }
  if (validation.kind == RowKind::layouts) add_pairs(text, validation, fits, style);
  if (has_memory(validation)) add_memory(text, validation, fits.front(), style);
  for (const Fit fit : fits) {
    text += fmt::format("\n# {}: published rows left out with fit {}\n", title_of(validation.kind),
                        config::name_of(fit));
    text += reasons_text(left_out(validation, fit), style);
  }
  return text;
}

}  // namespace trainyard
