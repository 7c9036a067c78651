#include "published/case_intervals.hpp"

#include "published/layout_rows.hpp"
#include "published/match_rules.hpp"
#include "published/training_rows.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <variant>

namespace trainyard {
namespace {

double half_of(double low, double high) { return (high - low) / 2; }

/// A series, or a family if ranks share the model; empty: no rule names one.
std::string series_of_case(const Validation& validation, const PublishedRow& row) {
  if (validation.kind == RowKind::training)
    return series_text(series_of(row, validation.data->run_rules.series));
  const FamilyRule* family = first_match(validation.data->run_rules.families, row);
  return family == nullptr ? std::string() : family->family;
}

/// The rows that are shipped: those to look up in if a user's are validated, otherwise the rows themselves.
const std::vector<PublishedRow>& shipped_rows(const PublishedData& data) {
  return data.lookup.empty() ? data.rows : data.lookup;
}

/// Shipped errors without those of the runs with which a case shares a property.
class HeldOut {
public:
  HeldOut(const Validation& validation, const PublishedErrors& shipped)
      : validation_(validation), shipped_(shipped) {
    std::map<std::string, const PublishedRow*> rows;
    for (const PublishedRow& row : shipped_rows(*validation.data)) rows.emplace(place_of(row), &row);
    for (const PublishedError& run : shipped.runs) {
      const auto row = rows.find(run.place);
      properties_.push_back(row == rows.end() ? std::string() : property(run.of, *row->second));
      if (!properties_.back().empty()) series_.emplace(properties_.back(), run.series);
    }
  }

  std::optional<ExpectedError> error(const ScoredCase& scored, const ExpectedError& printed) {
    const Circumstances& of = *scored.predicted.of;
    const std::string left_out = property(of, *scored.of.row);
    const auto series = series_.find(left_out);
    if (series == series_.end()) return printed;
    // of hundreds of series, none changes the widening
    if (validation_.kind == RowKind::training && validation_.left_out == GroupLeftOut::series)
      return expected_error(shipped_, of, series->second);
    auto remaining = without_.find(left_out);
    if (remaining == without_.end()) remaining = without_.emplace(left_out, without(left_out)).first;
    return expected_error(remaining->second, of);
  }

private:
  [[nodiscard]] std::string property(const Circumstances& of, const PublishedRow& row) const {
    return property_of(validation_.left_out, of, row.source, series_of_case(validation_, row));
  }

  [[nodiscard]] PublishedErrors without(const std::string& property) const {
    PublishedErrors rest = shipped_;
    rest.runs.clear();
    for (std::size_t i = 0; i < shipped_.runs.size(); ++i) {
      if (properties_[i] != property) rest.runs.push_back(shipped_.runs[i]);
    }
    rest.widening = widening_of(rest);
    keep_expected_errors(rest);
    return rest;
  }

  const Validation& validation_;
  const PublishedErrors& shipped_;
  std::vector<std::string> properties_;  ///< by shipped run; empty: no row is known for it
  std::map<std::string, int> series_;    ///< of a shipped run, by property
  std::map<std::string, PublishedErrors> without_;
};

IntervalCoverage coverage_of(const std::string& name, const std::vector<const CaseInterval*>& intervals) {
  IntervalCoverage coverage{.name = name, .rows = static_cast<int>(intervals.size())};
  std::vector<double> halves;
  std::vector<double> held_out;
  int covered = 0;
  int covered_held_out = 0;
  for (const CaseInterval* one : intervals) {
    covered += is_inside(*one) ? 1 : 0;
    halves.push_back(half_of(one->low, one->high));
    if (!one->held_out) continue;
    covered_held_out += is_inside_held_out(*one) ? 1 : 0;
    held_out.push_back(half_of(one->held_out->first, one->held_out->second));
  }
  coverage.covered = 1.0 * covered / coverage.rows;
  coverage.half_width = quantile(halves, 0.5);
  if (held_out.empty()) return coverage;
  coverage.held_out_rows = static_cast<int>(held_out.size());
  coverage.held_out_covered = 1.0 * covered_held_out / coverage.held_out_rows;
  coverage.held_out_half_width = quantile(held_out, 0.5);
  return coverage;
}

std::vector<IntervalCoverage> quarters_of(std::vector<const CaseInterval*> intervals) {
  constexpr std::size_t fewest = 40;
  constexpr std::array names{"nearest quarter", "second quarter", "third quarter", "farthest quarter"};
  std::erase_if(intervals, [](const CaseInterval* one) { return !one->held_out; });
  std::vector<IntervalCoverage> quarters;
  if (intervals.size() < fewest) return quarters;
  std::ranges::stable_sort(intervals, {}, &CaseInterval::mean_distance);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = [&](std::size_t quarter) {
      return intervals.begin() + static_cast<std::ptrdiff_t>(quarter * intervals.size() / names.size());
    };
    quarters.push_back(coverage_of(names.at(i), {at(i), at(i + 1)}));
  }
  return quarters;
}

/// Gathers errors as lines of a table.
class ErrorTable {
public:
  explicit ErrorTable(Fit fit) { errors_.fit = config::name_of(fit); }

  void add(const Case& of, const std::string& series, PublishedError error) {
    error.series = numbers_.try_emplace(series, static_cast<int>(numbers_.size()) + 1).first->second;
    error.place = place_of(*of.row);
    errors_.runs.push_back(std::move(error));
  }

  PublishedErrors finished() {
    errors_.widening = widening_of(errors_);
    return std::move(errors_);
  }

private:
  std::map<std::string, int> numbers_;
  PublishedErrors errors_;
};

/// A run that software is fitted to, predicted with other factors.
void add_fitted(ErrorTable& table, const Validation& validation, const KernelTimes& times,
                const Software& software) {
  const Case of = std::get<Case>(case_of(validation.data, *times.row));
  table.add(of, of.series,
            {.of = times.of,
             .is_scored = false,
             .measured = of.batch() / times.measured,
             .predicted = of.batch() / step_time(times, software)});
}

/// The interval of a row with an experiment: from the lowest to the highest end, each with its own bounds.
std::optional<CaseInterval> report_interval(const PredictedCase& predicted_case, double predicted) {
  if (!predicted_case.bounds) return std::nullopt;
  std::optional<CaseInterval> interval(std::in_place);
  interval->ratio = *predicted_case.measured / predicted - 1;
  interval->low = predicted_case.bounds->low;
  interval->high = predicted_case.bounds->high;
  for (const PredictedEnd& end : predicted_case.ends) {
    if (!end.bounds) return std::nullopt;
    interval->low = std::min(interval->low, end.value * (1 + end.bounds->low) / predicted - 1);
    interval->high = std::max(interval->high, end.value * (1 + end.bounds->high) / predicted - 1);
  }
  return interval;
}

}  // namespace

bool is_inside(const CaseInterval& interval) {
  return interval.ratio >= interval.low && interval.ratio <= interval.high;
}

bool is_inside_held_out(const CaseInterval& interval) {
  return interval.held_out && interval.ratio >= interval.held_out->first &&
         interval.ratio <= interval.held_out->second;
}

std::vector<std::optional<CaseInterval>> case_intervals(const Validation& validation, Fit fit) {
  std::vector<std::optional<CaseInterval>> intervals(validation.cases.size());
  const auto& shipped = validation.shipped_errors[fit];
  std::optional<HeldOut> held_out;
  if (shipped) held_out.emplace(validation, *shipped);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const ScoredCase& scored = validation.cases[i];
    if (!scored.is_scored(fit)) continue;
    const double predicted = *scored.predicted.by_fit[fit].value;
    if (scored.of.experiment) {
      intervals[i] = report_interval(scored.predicted, predicted);
      continue;
    }
    const double ratio = *scored.predicted.measured / predicted - 1;
    if (scored.of.figure == CaseFigure::samples_to_target && scored.of.target->high > 0) {
      intervals[i].emplace(CaseInterval{.ratio = ratio,
                                        .low = scored.of.target->low / predicted - 1,
                                        .high = scored.of.target->high / predicted - 1});
    }
    if (fit == Fit::software && scored.predicted.bounds)  // of a time, energy or cost to train
      intervals[i] = {
          .ratio = ratio, .low = scored.predicted.bounds->low, .high = scored.predicted.bounds->high};
    if (is_memory(scored.of.figure) && !is_verdict(scored.of.figure))
      intervals[i] = {.ratio = ratio, .low = memory_bounds.low, .high = memory_bounds.high};
    if (scored.of.figure != CaseFigure::throughput || !scored.predicted.of) continue;
    const bool is_layout = scored.predicted.of->layout.has_value();
    if (validation.kind == RowKind::layouts && !is_layout) continue;
    // a run of one GPU whose activations are computed again has a layout
    const bool is_of_another_table = is_layout && validation.kind != RowKind::layouts;
    const auto& case_errors = is_of_another_table ? validation.shipped_layout_errors[fit] : shipped;
    if (!case_errors) continue;
    const auto printed = expected_error(*case_errors, *scored.predicted.of);
    if (!printed) continue;
    const auto without = is_of_another_table ? std::nullopt : held_out->error(scored, *printed);
    CaseInterval& interval = intervals[i].emplace();
    interval.ratio = ratio;
    interval.low = printed->low;
    interval.high = printed->high;
    if (!without) continue;
    interval.held_out.emplace(without->low, without->high);
    interval.mean_distance = without->mean_distance;
  }
  return intervals;
}

std::optional<bool> is_inside_without_ranges(const ScoredCase& scored, Fit fit) {
  const std::optional<ErrorBounds>& bounds = scored.predicted.bounds;
  if (!bounds || !scored.is_scored(fit)) return std::nullopt;
  const double ratio = *scored.predicted.measured / *scored.predicted.by_fit[fit].value - 1;
  return ratio >= bounds->low && ratio <= bounds->high;
}

IntervalCoverages interval_coverage(const Validation& validation, Fit fit) {
  const auto intervals = case_intervals(validation, fit);
  std::map<const Family*, std::vector<const CaseInterval*>> by_family;
  std::vector<const CaseInterval*> all;
  std::vector<const CaseInterval*> sizes;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const ScoredCase& scored = validation.cases[i];
    if (intervals[i] && is_memory(scored.of.figure)) {
      sizes.push_back(&*intervals[i]);
      continue;
    }
    const bool is_left_out = !scored.counts(fit) || scored.is_incomplete();
    if (!intervals[i] || (is_left_out && !scored.of.experiment)) continue;
    by_family[scored.family].push_back(&*intervals[i]);
    if (scored.counts(fit)) all.push_back(&*intervals[i]);
  }
  IntervalCoverages coverages;
  for (const auto& family : validation.families) {
    if (const auto found = by_family.find(family.get()); found != by_family.end())
      coverages.families.push_back(coverage_of(family->name, found->second));
  }
  if (!all.empty()) coverages.all = coverage_of({}, all);
  if (!sizes.empty()) coverages.sizes = coverage_of({}, sizes);
  coverages.quarters = quarters_of(std::move(all));
  return coverages;
}

std::vector<RatioCoverage> pair_coverage(const Validation& validation, Fit fit) {
  const auto& shipped = validation.shipped_errors[fit];
  if (!shipped || validation.kind != RowKind::training || !validation.data->lookup.empty()) return {};
  return ratio_coverage(*shipped);
}

PublishedErrors error_table(const Validation& validation, Fit fit) {
  const bool is_training = validation.kind == RowKind::training;
  ErrorTable table(fit);
  for (const ScoredCase& scored : validation.cases) {
    const bool is_claimed = scored.family != nullptr && scored.family->not_in_totals.empty();
    if (scored.of.figure != CaseFigure::throughput || !scored.is_scored(fit) ||
        !scored.verdicts[fit].outcome.empty() || !is_claimed ||
        is_training == scored.predicted.of->layout.has_value())
      continue;  // a table has runs with layouts or runs without
    table.add(scored.of, is_training ? scored.of.series : scored.family->name,
              {.of = *scored.predicted.of,
               .is_scored = !scored.is_incomplete(),
               .measured = *scored.predicted.measured,
               .predicted = *scored.predicted.by_fit[fit].value});
  }
  if (is_training && !has_reference(fit) && validation.software) {
    const std::vector<KernelTimes>& runs = validation.software->runs();
    std::map<std::string, std::vector<const KernelTimes*>> by_property;
    for (const KernelTimes& run : runs)
      by_property[property_of(validation.left_out, run.of, run.row->source, run.series)].push_back(&run);
    for (const auto& [property, fitted] : by_property) {
      const Software software =
          fit == Fit::software ? validation.software->without(validation.left_out, property) : Software{};
      for (const KernelTimes* run : fitted) add_fitted(table, validation, *run, software);
    }
  }
  PublishedErrors errors = table.finished();
  if (is_training) errors.ratio_widening = ratio_widenings(errors);
  return errors;
}

std::string place_of(const PublishedRow& row) {
  return fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line);
}

}  // namespace trainyard
