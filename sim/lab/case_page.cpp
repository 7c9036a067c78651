#include "accuracy/expected_error.hpp"
#include "accuracy/run_change.hpp"
#include "config/keys.hpp"
#include "lab/page_parts.hpp"
#include "lab/pages.hpp"
#include "published/case_intervals.hpp"
#include "published/layout_pairs.hpp"
#include "published/scores.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

/// "training runs: large errors with fit 1gpu".
std::string title_of(RowKind kind, std::string_view part, Fit fit) {
  return fmt::format("{}: {} with fit {}", title_of(kind), part, config::name_of(fit));
}

doc::Table family_table() {
  return table_of("errors",
                  {"family", "rows", "MAPE", "median", "p90", "worst", "bias", "linear", "coverage", "of all",
                   "MAPE all"},
                  {text_column(40).wraps(16), number_column(4), number_column(5), number_column(6).drops(5),
                   number_column(5).drops(7), number_column(5).drops(4), number_column(5), number_column(6),
                   number_column(8).drops(3), number_column(6).drops(2), number_column(8).drops(1)});
}

void add_line(doc::Table& table, std::string_view name, const CaseErrors& errors) {
  if (errors.rows == 0 && !errors.coverage_of_all) return;
  add_row(table, name, errors.rows, percent_value(errors.mape), percent_value(errors.median),
          percent_value(errors.p90), percent_value(errors.worst), signed_value(errors.bias),
          percent_value(errors.linear), percent_value(errors.coverage), percent_value(errors.coverage_of_all),
          percent_value(errors.with_excluded));
}

constexpr std::string_view meanings_of_columns[] = {
    "bias: mean error with its sign, above 0 if predictions are too large",
    "linear: mean error of the published run that is fitted to, times the number of GPUs",
    "coverage: predicted share of the eligible rows",
    "of all: the same, where rows with nothing to fit to and layouts that contradict themselves count",
    "MAPE all: with the rows that were left out, each with its error of linear scaling",
    "incomplete: the source does not say everything",
    "implausible: left out by rules R7 and R8 of workloads/published/README.md"};

void add_fit(doc::Document& page, const Validation& validation, Fit fit) {
  const auto row = std::ranges::find(config::Names<Fit>::table, fit, &config::Name<Fit>::value);
  const std::string fitted = validation.kind == RowKind::reports
                                 ? "predicted as `run` does it, fitted to no report"
                                 : fmt::format("fit {}: {}", row->text, row->doc);
  doc::Table table = family_table();
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
  add_part(page, title_of(validation.kind, "errors by family", fit), fitted + "; errors in %")
      .add(std::move(table));
}

/// How many cases lie in the interval that `run` prints for them.
void add_intervals(doc::Document& page, const Validation& validation, Fit fit) {
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
  doc::Section& section = add_part(
      page, title_of(validation.kind, "expected errors", fit),
      fmt::format("expected error with fit {}: share of the rows inside the interval that `run` prints for "
                  "them, which is meant to hold {:.0f} %, and its median half width; {}; in %",
                  config::name_of(fit), 100 * expected_share, held_out));
  doc::Table table =
      table_of("expected errors", {"family", "rows", "inside", "half width", "held out", "half width"},
               {text_column(40).wraps(16), number_column(4), number_column(7), number_column(11),
                number_column(8), number_column(11)});
  const auto add = [&](const IntervalCoverage& one) {
    const auto held_out_value = [&](double ratio) {
      return one.held_out_rows > 0 ? percent_value(ratio) : doc::Value("-");
    };
    add_row(table, one.name.empty() ? "all runs" : one.name, one.rows, percent_value(one.covered),
            percent_value(one.half_width), held_out_value(one.held_out_covered),
            held_out_value(one.held_out_half_width));
  };
  std::ranges::for_each(coverages.families, add);
  if (has_totals(validation) && coverages.all) add(*coverages.all);
  std::ranges::for_each(coverages.quarters, add);
  section.add(std::move(table));
  if (validation.kind != RowKind::reports) return;
  int inside = 0;
  int all = 0;
  for (const ScoredCase& scored : validation.cases) {
    const std::optional<bool> is_in = is_inside_without_ranges(scored, fit);
    if (!is_in || !scored.counts(fit)) continue;
    ++all;
    inside += *is_in ? 1 : 0;
  }
  section.add(doc::Sentence{.text = fmt::format("{} of {} runs are inside without their ranges", inside, all),
                            .indent = 0});
}

/// How many published pairs lie in the interval that `compare` prints.
void add_ratio_intervals(doc::Document& page, const Validation& validation, Fit fit) {
  const auto coverages = pair_coverage(validation, fit);
  if (coverages.empty()) return;
  doc::Table table = table_of(
      "expected errors of comparisons", {"pairs differ in", "pairs", "inside", "half width", "one run"},
      {text_column(40).wraps(16), number_column(5), number_column(7), number_column(11), number_column(10)});
  for (const RatioCoverage& one : coverages)
    add_row(table, words_of(one.change), one.pairs, percent_value(one.covered), percent_value(one.half_width),
            percent_value(one.run_half_width));
  add_part(page, title_of(validation.kind, "expected errors of comparisons", fit),
           fmt::format("expected error of comparisons with fit {}: share of the published pairs "
                       "inside the interval that {:.0f} % should lie in, each given by other series; "
                       "median half widths of these intervals, and of the wider one of the two "
                       "runs alone; in %",
                       config::name_of(fit), 100 * expected_share))
      .add(std::move(table));
}

std::string layout_in_words(const CaseLayout& layout) {
  const Parallelism& parallelism = layout.parallelism;
  std::string text = fmt::format("t{} p{}", parallelism.tensor, parallelism.pipeline);
  if (parallelism.virtual_stages > 1) text += fmt::format(" v{}", parallelism.virtual_stages);
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

void add_cases(doc::Document& page, const Validation& validation) {
  doc::Table table = table_of(
      "runs", {"row", "platform", "stack", "model", "", "batch", "GPUs", "measured"},
      {text_column(24).wraps(16), text_column(22).wraps(10).drops(4), text_column(24).wraps(10).drops(1),
       text_column(16).wraps(8), text_column(8).named("job").drops(2), number_column(6).drops(5),
       number_column(5), number_column(10).drops(3)});
  const std::vector<Fit> fits = fits_of(validation.kind);
  for (const Fit fit : fits)
    table.columns.push_back({{}, std::string(config::name_of(fit)), number_column(8)});
  for (const ScoredCase& scored : validation.cases) {
    const Case& of = scored.of;
    if (is_memory(of.figure)) continue;
    add_row(table, place_of(*of.row), of.machine == nullptr ? "-" : of.platform_name(),
            of.stack == nullptr ? "-" : of.stack_name(), of.model_name(), job_in_words(of),
            of.machine == nullptr ? of.row->global_batch : batch_in_words(of), of.row->gpus_total,
            scored.predicted.measured ? fmt::format("{:.5g}", *scored.predicted.measured) : "-");
    for (const Fit fit : fits)
      table.rows.back().cells.emplace_back(
          signed_value(scored.is_scored(fit) ? std::optional(scored.error(fit)) : std::nullopt));
  }
  add_part(page, fmt::format("{}: every row", title_of(validation.kind)),
           fmt::format("{}: published figures (throughputs in samples per second of all GPUs), errors of the "
                       "predictions in %",
                       title_of(validation.kind)))
      .add(std::move(table));
}

/// The ends of a report's ranges have a column of their own.
void add_reports(doc::Document& page, const Validation& validation) {
  if (validation.cases.empty()) return;
  doc::Table table = table_of(
      "reports", {"report", "platform", "GPUs", "measured", "predicted", "at both ends", "error", "inside"},
      {text_column(35).wraps(16), text_column(16).wraps(8).drops(1), number_column(5).drops(2),
       number_column(8), number_column(9), text_column(12), number_column(6), text_column(6)});
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
    add_row(table, id.empty() ? place_of(*scored.of.row) : id, scored.of.platform_name(),
            gpus > 0 ? std::to_string(gpus) : "-", number(scored.predicted.measured),
            number(scored.predicted.by_fit[fit].value),
            low ? fmt::format("{} to {}", number(low), number(high)) : "",
            signed_value(has_error ? std::optional(scored.error(fit)) : std::nullopt), inside);
  }
  doc::Section& section = add_part(
      page, fmt::format("{}: every row", title_of(validation.kind)),
      fmt::format("{}: measured and predicted samples per second of all GPUs, GB/s of collectives, GB "
                  "of memory, or 1 if a run fits into it and 0 if not; at both ends: predictions with the "
                  "lowest and the highest values of what the source omits; error in %; inside the expected "
                  "error",
                  title_of(validation.kind)));
  section.add(std::move(table));
  if (without_ends.empty()) return;
  section.add(
      doc::Sentence{.text = "reports whose ranges are not used, since an end cannot be run", .indent = 0});
  add_reasons(section, without_ends);
}

/// Grouped by cause, the group with the worst case first.
void add_outliers(doc::Document& page, const Validation& validation, Fit fit) {
  std::vector<const ScoredCase*> outliers = outliers_of(validation, fit);
  if (outliers.empty()) return;
  doc::Section& section =
      add_part(page, title_of(validation.kind, "large errors", fit),
               fmt::format("rows with errors above {:.0f} % with fit {}, or named by a rule, with the "
                           "suspected cause",
                           100 * far_off_run, config::name_of(fit)));
  const auto cause_of = [](const ScoredCase* scored) {
    return fmt::format("{}{}", is_always_named(*scored) ? "always named: " : "", suspicion_of(*scored));
  };
  for (std::span<const ScoredCase*> left = outliers; !left.empty();) {
    const std::string cause = cause_of(left.front());
    const std::span<const ScoredCase*> rest =
        std::ranges::stable_partition(left, [&](const ScoredCase* run) { return cause_of(run) == cause; });
    section.add(doc::Sentence{.text = cause});
    doc::Table table =
        table_of("large errors", {"error", "run"}, {number_column(9), text_column().wraps(20)}, 2);
    table.has_heads = false;
    for (const ScoredCase* scored : left.first(left.size() - rest.size())) {
      const PublishedRow& row = *scored->of.row;
      add_row(table, doc::Value(fmt::format("{:>9}", signed_cell(scored->error(fit))), scored->error(fit)),
              fmt::format("{} {} GPUs, {}, {}, {}, batch {}", place_of(row), row.gpus_total, row.framework,
                          row.model, row.precision, row.batch_per_gpu));
    }
    section.add(std::move(table));
    left = rest;
  }
}

/// Nothing is fitted to the runs of a stack on several GPUs, so each is predicted without knowledge of it.
void add_stacks(doc::Document& page, const Validation& validation, Fit fit) {
  std::set<std::string> stacks;
  for (const ScoredCase& scored : validation.cases) stacks.insert(scored.of.stack_name());
  doc::Table table = family_table();
  table.has_heads = false;  // those of the tables above
  for (const std::string& stack : stacks) {
    const CaseErrors errors = errors_of(validation, fit, {.stack = stack});
    if (errors.rows > 0) add_line(table, stack, errors);
  }
  add_part(page, title_of(validation.kind, "errors by stack", fit),
           fmt::format("errors by stack with fit {}, over the runs in the totals", config::name_of(fit)))
      .add(std::move(table));
}

void add_pairs(doc::Document& page, const Validation& validation, const std::vector<Fit>& fits) {
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  if (pairs.empty()) return;
  doc::Table table = table_of(
      "pairs", {"pairs differ in", "fit", "pairs", "change", "error"},
      {text_column(44).wraps(16), text_column(9), number_column(5), number_column(8), number_column(6)});
  for (const PairSetting setting : pair_settings) {
    std::string_view name = config::name_of(setting);
    for (const Fit fit : fits) {
      const PairErrors errors = errors_of(pairs, setting, fit);
      if (errors.pairs == 0) continue;
      add_row(table, name, config::name_of(fit), errors.pairs, percent_value(errors.change),
              percent_value(errors.error));
      name = "";
    }
  }
  add_part(page, "pairs of runs",
           "pairs of these runs that differ in one setting: mean change of the step, and mean error "
           "of the predicted change, in % of the step")
      .add(std::move(table));
}

void add_memory(doc::Document& page, const Validation& validation, Fit fit) {
  doc::Section& section = add_part(page, fmt::format("{}: memory", title_of(validation.kind)));
  const auto say = [&](std::string text) {
    section.add(doc::Sentence{.text = std::move(text), .indent = 0});
  };
  const MemoryVerdicts verdicts = verdicts_of(validation);
  if (verdicts.ran + verdicts.failed > 0)
    say(
        fmt::format("memory of these runs: {} of {} that ran are predicted to fit, {} of {} that "
                    "ran out of memory are not",
                    verdicts.accepted, verdicts.ran, verdicts.refused, verdicts.failed));
  const auto is_size = [](const ScoredCase& scored) {
    return is_memory(scored.of.figure) && !is_verdict(scored.of.figure);
  };
  if (std::ranges::none_of(validation.cases, is_size)) return;
  say("errors of published sizes of memory in %");
  doc::Table table = family_table();
  for (const auto& [name, figure, unit] : config::Names<CaseFigure>::table) {
    if (!is_memory(figure) || is_verdict(figure)) continue;
    const CaseErrors errors = errors_of(validation, fit, {.figure = figure});
    if (errors.rows > 0) add_line(table, name, errors);
  }
  section.add(std::move(table));
  const IntervalCoverages coverages = interval_coverage(validation, fit);
  if (coverages.sizes)
    say(fmt::format("{} % of {} lie in the interval that `run` prints: measured {} to {} % of predicted",
                    percent_cell(coverages.sizes->covered), plural(coverages.sizes->rows, "size"),
                    whole_percent(memory_bounds.low), whole_percent(memory_bounds.high)));
}

}  // namespace

void add_cases(doc::Document& page, const Validation& validation, const std::vector<Fit>& fits,
               bool only_families) {
  const bool is_training = validation.kind == RowKind::training;
  if (!only_families && validation.kind == RowKind::reports)
    add_reports(page, validation);
  else if (!only_families)
    add_cases(page, validation);
  doc::Section& head = add_part(page, title_of(validation.kind), std::string(title_of(validation.kind)));
  if (is_training) {
    for (const std::string_view meaning : meanings_of_columns)
      head.add(doc::Sentence{.text = std::string(meaning), .indent = 0});
  }
  for (const Fit fit : fits) add_fit(page, validation, fit);
  for (const Family* family : families_of(validation)) {
    if (!family->not_in_totals.empty() && !is_training)
      page.sections.back().add(doc::Sentence{
          .text = fmt::format("{}, not in totals: {}", family->name, family->not_in_totals), .indent = 0});
  }
  for (const Fit fit : fits) add_intervals(page, validation, fit);
  for (const Fit fit : fits) add_ratio_intervals(page, validation, fit);
  for (const Fit fit : fits) {
    if (fit == Fit::one_gpu) add_stacks(page, validation, fit);
  }
  for (const Fit fit : fits) {
    if (fit != Fit::nothing && is_training) add_outliers(page, validation, fit);
  }
  if (validation.kind == RowKind::layouts) add_pairs(page, validation, fits);
  if (has_memory(validation)) add_memory(page, validation, fits.front());
  for (const Fit fit : fits)
    add_reasons(add_part(page, title_of(validation.kind, "rows left out", fit),
                         fmt::format("{}: published rows left out with fit {}", title_of(validation.kind),
                                     config::name_of(fit))),
                left_out(validation, fit));
}

}  // namespace trainyard
