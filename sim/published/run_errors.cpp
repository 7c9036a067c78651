#include "published/run_errors.hpp"

#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

std::optional<double> mean_or_none(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

std::optional<double> quantile_or_none(const std::vector<double>& values, double part) {
  return values.empty() ? std::nullopt : std::optional(quantile(values, part));
}

bool is_selected(const RunSelection& selection, const FamilyRule* family, const PublishedRow& row) {
  if ((row.clean == "partial") != selection.is_incomplete) return false;
  if (selection.family) return family != nullptr && family->family == *selection.family;
  return family != nullptr && family->not_in_totals.empty();
}

/// Whether a fit applies to rows with this number of GPUs and nodes.
bool is_for(FitKind fit, const PublishedRow& row) {
  return fit == FitKind::nothing || fit == FitKind::software ||
         (fit == FitKind::one_gpu && row.gpus_total > 1) || row.nodes > 1;
}

/// The error of linear scaling from the run to which the fit fits; nothing without a fit.
std::optional<double> linear_error(const PredictedRun& run, FitKind fit) {
  const std::optional<double>& line =
      fit == FitKind::one_node ? run.linear_from_one_node : run.linear_from_one_gpu;
  if (!line || !run.measured) return {};
  return std::abs(*line / *run.measured - 1);
}

}  // namespace

RunErrors errors_of(const TrainingValidation& validation, FitKind fit, const RunSelection& selection) {
  std::vector<double> errors;
  std::vector<double> with_sign;
  std::vector<double> judged;  // those that may be the worst
  std::vector<double> linear;
  std::vector<double> left_out;  // by linear scaling
  int should_be = 0;
  int unfitted = 0;  // rule R4 (validate_training.hpp): no run to fit to
  for (const ScoredRun& scored : validation.runs) {
    const Verdict& verdict = scored.verdict(fit);
    if (!is_selected(selection, scored.family, *scored.run.row)) continue;
    if (selection.stack && scored.run.stack->stack != *selection.stack) continue;
    if (!verdict.is_asked) {
      if (is_for(fit, *scored.run.row)) ++unfitted;
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
    if (selection.stack || !is_for(fit, *missed.row)) continue;
    if (!is_selected(selection, missed.family, *missed.row)) continue;
    ++should_be;
    if (const auto& error = missed.linear[fit]) left_out.push_back(*error);
  }
  RunErrors result{.rows = static_cast<int>(errors.size()),
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

}  // namespace trainyard
