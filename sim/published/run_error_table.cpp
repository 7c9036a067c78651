#include "published/run_error_table.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"

#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {
namespace {

Circumstances circumstances_of(const PublishedRun& run, const SoftwareUse& use, bool divides_layers) {
  return {.use = use,
          .platform = run.machine->platform,
          .gpus = run.row->gpus_total,
          .nodes = run.row->nodes,
          .batch_per_gpu = run.measured.batch_per_gpu,
          .divides_layers = divides_layers};
}

Circumstances circumstances_of(const ScoredRun& scored) {
  return circumstances_of(scored.run, scored.predicted.use, scored.predicted.divides_layers);
}

class Table {
public:
  explicit Table(FitKind fit) : fit_(fit) {}

  void add(const ScoredRun& scored) {
    if (!scored.is_scored(fit_) || !scored.verdict(fit_).outcome.empty() || !is_claimed(scored)) return;
    const PublishedRow& row = *scored.run.row;
    add(scored.run, {.of = circumstances_of(scored),
                     .is_scored = scored.counts(fit_) && row.clean != "partial",
                     .measured = *scored.predicted.measured,
                     .predicted = *scored.predicted.by_fit[fit_].throughput});
  }

  void add(const PublishedRun& run, const KernelTimes& times, const Software& software) {
    const double samples = 1.0 * run.measured.batch_per_gpu * run.measured.accumulation;
    add(run, {.of = circumstances_of(run, times.use, false),
              .is_scored = false,
              .measured = samples / times.measured,
              .predicted = samples / step_time(times, software)});
  }

  /// Without the widenings of pairs.
  PublishedErrors finished() {
    errors_.fit = config::name_of(fit_);
    errors_.widening = widening_of(errors_);
    return std::move(errors_);
  }

private:
  static bool is_claimed(const ScoredRun& scored) {
    return scored.family != nullptr && scored.family->not_in_totals.empty();
  }

  void add(const PublishedRun& run, PublishedError error) {
    error.series = series_.try_emplace(run.series, static_cast<int>(series_.size()) + 1).first->second;
    error.place = place_of(*run.row);
    errors_.runs.push_back(std::move(error));
  }

  FitKind fit_;
  std::map<SeriesKey, int> series_;
  PublishedErrors errors_;
};

Table table_of(const TrainingValidation& validation, FitKind fit) {
  Table table(fit);
  for (const ScoredRun& scored : validation.runs) table.add(scored);
  if ((fit != FitKind::nothing && fit != FitKind::software) || !validation.software) return table;
  const std::vector<KernelTimes>& runs = validation.software->runs();
  std::map<SeriesKey, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < runs.size(); ++i) by_series[runs[i].series].push_back(i);
  for (const auto& [key, its] : by_series) {
    const Software software = fit == FitKind::software ? validation.software->without(its) : Software{};
    for (const std::size_t i : its) {
      const auto run = published_run(validation.data, *runs[i].row);
      table.add(std::get<PublishedRun>(run), runs[i], software);
    }
  }
  return table;
}

}  // namespace

PublishedErrors published_errors(const TrainingValidation& validation, FitKind fit) {
  PublishedErrors errors = table_of(validation, fit).finished();
  errors.ratio_widening = ratio_widenings(errors);
  return errors;
}

std::vector<std::optional<RunInterval>> run_intervals(const TrainingValidation& validation, FitKind fit) {
  std::vector<std::optional<RunInterval>> intervals(validation.runs.size());
  const auto& shipped = validation.shipped_errors[fit];
  if (!shipped) return intervals;
  const auto series = shipped_series<SeriesKey>(*shipped, *validation.data, [&](const PublishedRow& row) {
    return series_of(row, validation.data->run_rules.series);
  });
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const ScoredRun& scored = validation.runs[i];
    if (!scored.is_scored(fit)) continue;
    const Circumstances of = circumstances_of(scored);
    const auto printed = expected_error(*shipped, of);
    if (!printed) continue;
    const double ratio = *scored.predicted.measured / *scored.predicted.by_fit[fit].throughput - 1;
    const auto its = series.find(scored.run.series);
    intervals[i] = {.ratio = ratio,
                    .printed = *printed,
                    .held_out = its == series.end() ? printed : expected_error(*shipped, of, its->second)};
  }
  return intervals;
}

CoverageByFamily interval_coverage(const TrainingValidation& validation, FitKind fit) {
  const auto intervals = run_intervals(validation, fit);
  std::vector<std::pair<std::string, const RunInterval*>> counted;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const ScoredRun& scored = validation.runs[i];
    if (intervals[i] && scored.counts(fit) && scored.run.row->clean != "partial")
      counted.emplace_back(scored.family->family, &*intervals[i]);
  }
  return coverage_by_family(validation.data->run_rules.families, counted);
}

std::vector<RatioCoverage> pair_coverage(const TrainingValidation& validation, FitKind fit) {
  const auto& shipped = validation.shipped_errors[fit];
  if (!shipped || !validation.data->lookup.empty()) return {};
  return ratio_coverage(*shipped);
}

}  // namespace trainyard
