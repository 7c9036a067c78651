#include "published/scores.hpp"

#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace trainyard {
namespace {

std::optional<double> mean_or_none(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

std::optional<double> quantile_or_none(const std::vector<double>& values, double part) {
  return values.empty() ? std::nullopt : std::optional(quantile(values, part));
}

bool is_selected(const CaseSelection& selection, const Family* family, const PublishedRow& row) {
  if ((row.clean == "partial") != selection.is_incomplete) return false;
  if (selection.family) return family != nullptr && family->name == *selection.family;
  return family != nullptr && family->not_in_totals.empty();
}

bool is_selected(const CaseSelection& selection, const ScoredCase& scored) {
  if (!is_selected(selection, scored.family, *scored.of.row)) return false;
  if (selection.figure ? scored.of.figure != *selection.figure : is_memory(scored.of.figure)) return false;
  return !selection.stack || scored.of.stack_name() == *selection.stack;
}

/// Whether a fit applies to rows with this number of GPUs and nodes.
bool is_for(Fit fit, const PublishedRow& row) {
  if (fit == Fit::one_gpu) return row.gpus_total > 1;
  return fit != Fit::one_node || row.nodes > 1;
}

/// The error of linear scaling from a fit's references; nothing without any.
std::optional<double> linear_error(const PredictedCase& run, Fit fit) {
  const std::optional<double>& line = run.linear[has_reference(fit) ? fit : Fit::one_gpu];
  if (!line || !run.measured) return {};
  return std::abs(*line / *run.measured - 1);
}

}  // namespace

CaseErrors errors_of(const Validation& validation, Fit fit, const CaseSelection& selection) {
  std::vector<double> errors;
  std::vector<double> with_sign;
  std::vector<double> judged;  // those that may be the worst
  std::vector<double> linear;
  std::vector<double> left_out;  // by linear scaling
  int should_be = 0;
  int unfitted = 0;  // rule R4: no reference; of layouts: not eligible
  for (const ScoredCase& scored : validation.cases) {
    if (!is_selected(selection, scored)) continue;
    const Verdict& verdict = scored.verdicts[fit];
    if (!verdict.is_asked) {
      if (is_for(fit, *scored.of.row)) ++unfitted;
      continue;
    }
    ++should_be;
    const std::optional<double> line_error = linear_error(scored.predicted, fit);
    if (!verdict.excluded.empty() || (selection.leave_out_implausible && !verdict.outcome.empty())) {
      if (line_error) left_out.push_back(*line_error);
      continue;
    }
    with_sign.push_back(scored.error(fit));
    errors.push_back(std::abs(with_sign.back()));
    if (!verdict.is_rounded) judged.push_back(errors.back());
    if (line_error) linear.push_back(*line_error);
  }
  for (const MissedRow& missed : validation.missed) {
    if (selection.stack || selection.figure || !is_for(fit, *missed.row)) continue;
    if (!is_selected(selection, missed.family, *missed.row)) continue;
    ++(missed.is_eligible ? should_be : unfitted);
    if (const auto& error = missed.linear[fit]) left_out.push_back(*error);
  }
  CaseErrors result{.rows = static_cast<int>(errors.size()),
                    .mape = mean_or_none(errors),
                    .median = quantile_or_none(errors, 0.5),
                    .p90 = quantile_or_none(errors, 0.9),
                    .worst = quantile_or_none(judged, 1),
                    .bias = mean_or_none(with_sign),
                    .coverage = {},
                    .coverage_of_all = {},
                    .linear = linear.size() == errors.size() ? mean_or_none(linear) : std::nullopt,
                    .with_excluded = {}};
  const auto scored = static_cast<double>(errors.size());
  if (should_be > 0) result.coverage = scored / should_be;
  if (should_be + unfitted > 0) result.coverage_of_all = scored / (should_be + unfitted);
  left_out.insert(left_out.end(), errors.begin(), errors.end());
  result.with_excluded = mean_or_none(left_out);
  return result;
}

MemoryVerdicts verdicts_of(const Validation& validation) {
  MemoryVerdicts verdicts;
  for (const ScoredCase& scored : validation.cases) {
    if (!scored.predicted.memory) continue;
    const CaseFigure figure = scored.of.figure;
    const bool is_run = figure == CaseFigure::throughput || figure == CaseFigure::within_memory;
    if ((is_run && !scored.is_repeated) || figure == CaseFigure::out_of_memory)
      verdicts.add(is_run, scored.predicted.memory->fits);
  }
  return verdicts;
}

std::vector<const Family*> families_of(const Validation& validation) {
  std::set<const Family*> present;
  for (const ScoredCase& scored : validation.cases) {
    if (!is_memory(scored.of.figure)) present.insert(scored.family);
  }
  for (const MissedRow& row : validation.missed) present.insert(row.family);
  std::vector<const Family*> families;
  for (const bool counts : {true, false}) {
    for (const auto& family : validation.families) {
      if (family->not_in_totals.empty() == counts && present.contains(family.get()))
        families.push_back(family.get());
    }
  }
  return families;
}

bool has_totals(const Validation& validation) { return validation.kind != RowKind::targets; }

bool has_memory(const Validation& validation) {
  return validation.kind == RowKind::layouts || validation.kind == RowKind::reports ||
         std::ranges::any_of(validation.cases,
                             [](const ScoredCase& scored) { return is_memory(scored.of.figure); });
}

std::pair<std::optional<double>, std::optional<double>> ends_of(const PredictedCase& predicted) {
  if (predicted.ends.empty()) return {};
  const auto [low, high] = std::ranges::minmax_element(predicted.ends, {}, &PredictedEnd::value);
  return {low->value, high->value};
}

bool is_always_named(const ScoredCase& scored) {
  return scored.outlier != nullptr && scored.outlier->always_named;
}

std::vector<const ScoredCase*> outliers_of(const Validation& validation, Fit fit) {
  std::vector<const ScoredCase*> found;
  for (const ScoredCase& scored : validation.cases) {
    if (!scored.counts(fit) || is_memory(scored.of.figure)) continue;
    if (std::abs(scored.error(fit)) > far_off_run || is_always_named(scored)) found.push_back(&scored);
  }
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [&](const ScoredCase* run) { return std::abs(run->error(fit)); });
  return found;
}

std::string_view suspicion_of(const ScoredCase& scored) {
  return scored.outlier == nullptr ? std::string_view("unknown cause")
                                   : std::string_view(scored.outlier->reason);
}

std::map<std::string, int> left_out(const Validation& validation, Fit fit) {
  std::map<std::string, int> reasons = validation.excluded;
  for (const ScoredCase& scored : validation.cases) {
    const Verdict& verdict = scored.verdicts[fit];
    if (!verdict.excluded.empty())
      ++reasons[verdict.excluded];
    else if (!verdict.outcome.empty())
      ++reasons[verdict.outcome];
  }
  return reasons;
}

}  // namespace trainyard
