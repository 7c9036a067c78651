#include "published/run_error_table.hpp"

#include "accuracy/expected_error.hpp"
#include "accuracy/fitted_ratios.hpp"
#include "config/keys.hpp"
#include "units/statistics.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {
namespace {

std::string place_of(const PublishedRow& row) {
  return fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line);
}

class Table {
public:
  explicit Table(FitKind fit) : fit_(fit) {}

  void add(const ScoredRun& scored) {
    if (!scored.is_scored(fit_) || !scored.verdict(fit_).outcome.empty() || !is_claimed(scored)) return;
    const PublishedRow& row = *scored.run.row;
    add(scored.run, scored.predicted.use,
        {.is_scored = scored.counts(fit_) && row.clean != "partial",
         .measured = *scored.predicted.measured,
         .predicted = *scored.predicted.by_fit[fit_].throughput},
        scored.family->family);
  }

  void add(const PublishedRun& run, const KernelTimes& times, const Software& software) {
    const double samples = 1.0 * run.measured.batch_per_gpu * run.measured.accumulation;
    add(run, times.use,
        {.is_scored = false,
         .measured = samples / times.measured,
         .predicted = samples / step_time(times, software)},
        {});
  }

  /// Without the widenings of pairs.
  PublishedErrors finished() {
    errors_.fit = config::name_of(fit_);
    errors_.widening = widening_of(errors_);
    return std::move(errors_);
  }

  /// The family of each run; empty for runs on one GPU.
  [[nodiscard]] const std::vector<std::string>& families() const { return families_; }

private:
  static bool is_claimed(const ScoredRun& scored) {
    return scored.family != nullptr && scored.family->not_in_totals.empty();
  }

  void add(const PublishedRun& run, const SoftwareUse& use, PublishedError error, std::string family) {
    families_.push_back(std::move(family));
    error.of = {.use = use,
                .platform = run.machine->platform,
                .gpus = run.row->gpus_total,
                .nodes = run.row->nodes,
                .batch_per_gpu = run.measured.batch_per_gpu};
    error.series = series_.try_emplace(run.series, static_cast<int>(series_.size()) + 1).first->second;
    error.place = place_of(*run.row);
    errors_.runs.push_back(std::move(error));
  }

  FitKind fit_;
  std::map<SeriesKey, int> series_;
  PublishedErrors errors_;
  std::vector<std::string> families_;
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

IntervalCoverage coverage_of(const std::vector<std::pair<const PublishedError*, ExpectedError>>& runs) {
  IntervalCoverage coverage{.runs = static_cast<int>(runs.size())};
  std::vector<double> halves;
  int covered = 0;
  for (const auto& [run, expected] : runs) {
    covered += is_covered(*run, expected) ? 1 : 0;
    halves.push_back((expected.high - expected.low) / 2);
  }
  coverage.covered = 1.0 * covered / coverage.runs;
  coverage.half_width = quantile(halves, 0.5);
  return coverage;
}

PublishedErrors published_errors(const TrainingValidation& validation, FitKind fit) {
  PublishedErrors errors = table_of(validation, fit).finished();
  errors.ratio_widening = ratio_widenings(errors);
  return errors;
}

std::vector<std::pair<std::string, IntervalCoverage>> interval_coverage(const TrainingValidation& validation,
                                                                        FitKind fit) {
  if (fit == FitKind::one_node) return {};
  Table table = table_of(validation, fit);
  const PublishedErrors errors = table.finished();
  std::map<std::string, std::vector<std::pair<const PublishedError*, ExpectedError>>> by_family;
  for (std::size_t i = 0; i < errors.runs.size(); ++i) {
    const PublishedError& run = errors.runs[i];
    const auto expected = expected_error(errors, run.of, run.series);
    if (!run.is_scored || !expected) continue;
    for (const std::string& family : {table.families()[i], std::string()})
      by_family[family].emplace_back(&run, *expected);
  }
  std::vector<std::pair<std::string, IntervalCoverage>> coverages;
  const auto add = [&](const std::string& family) {
    const auto found = by_family.find(family);
    if (found == by_family.end()) return;
    coverages.emplace_back(family, coverage_of(found->second));
    by_family.erase(found);
  };
  for (const FamilyRule& rule : validation.data->run_rules.families) add(rule.family);
  add({});
  return coverages;
}

std::vector<RatioCoverage> pair_coverage(const TrainingValidation& validation, FitKind fit) {
  if (fit == FitKind::one_node || !validation.data->lookup.empty()) return {};
  return fitted_ratio_coverage(table_of(validation, fit).finished());
}

}  // namespace trainyard
