#include "published/validate.hpp"

#include "collectives/operation.hpp"
#include "experiment/collective_software.hpp"
#include "platform/channels.hpp"
#include "published/curve_model.hpp"
#include "run/collective_sweep.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace trainyard {

namespace {

/// All sizes of the curve, each once, ascending.
std::vector<Bytes> sizes_of(const CollectiveCurve& curve) {
  std::vector<Bytes> sizes;
  for (const CurvePoint& point : curve.points)
    sizes.insert(sizes.end(), point.sizes.begin(), point.sizes.end());
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// The row of a size, which may have been cut to whole elements.
const CollectiveTiming& timing_at(const CollectiveReport& report, Bytes size) {
  return *std::ranges::min_element(report.rows, {}, [&](const CollectiveTiming& row) {
    return std::max(row.size, size) - std::min(row.size, size);
  });
}

ScoredPoint score(const CurvePoint& point, const CollectiveReport& report) {
  const CollectiveTiming& last = timing_at(report, point.size());
  ScoredPoint scored{.point = point, .algorithm = last.algorithm, .protocol = last.protocol};
  if (point.figure == CollectiveFigure::time) {
    scored.predicted = last.time.si();
    scored.error = scored.predicted / point.measured - 1;
    return scored;
  }
  std::vector<double> rates;
  for (const Bytes size : point.sizes) rates.push_back(timing_at(report, size).busbw.si());
  switch (point.figure) {
    case CollectiveFigure::peak_busbw:
      scored.predicted = *std::ranges::max_element(rates);
      break;
    case CollectiveFigure::mean_busbw:
      scored.predicted = std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
      break;
    default:
      scored.predicted = rates.back();
  }
  scored.error = point.measured / scored.predicted - 1;
  return scored;
}

/// The family of a row without a platform: estimated from its columns.
CurveFamily family_by_columns(const PublishedRow& row) {
  if (row.nodes > 1) return CurveFamily::several_nodes;
  const auto has = [&](std::string_view word) {
    return row.interconnect_intra.find(word) != std::string::npos;
  };
  return has("NVSwitch") || (has("NVLink") && !has("PCIe")) ? CurveFamily::nvlink : CurveFamily::pcie;
}

std::vector<SizedError> errors_of(const ScoredCurve& curve) {
  std::vector<SizedError> errors;
  for (const ScoredPoint& scored : curve.points) errors.push_back({scored.point.size(), scored.error});
  return errors;
}

ScoredCurve score_curve(const config::Catalogue& catalogue, const CollectiveCurve& curve,
                        const Protocols& constants) {
  const Cluster cluster = cluster_of(catalogue, curve);
  const CollectiveSweep sweep{
      .operation = curve.operation,
      .algorithm = curve.algorithm,
      .protocol = curve.protocol,
      .groups = {},
      .sizes = sizes_of(curve),
      .software = collective_software(catalogue, constants, curve.nccl, cluster.platform),
      .gpus_per_process = curve.gpus_per_process,
      .call = curve.call,
      .fidelity = Fidelity::closed};
  const CollectiveReport report = time_collective(cluster, sweep);
  ScoredCurve scored{.curve = curve,
                     .family = family_of(cluster),
                     .compute_capability = sweep.software.compute_capability,
                     .points = {},
                     .large = {},
                     .small = {}};
  for (const CurvePoint& point : curve.points) scored.points.push_back(score(point, report));
  const std::vector<SizedError> errors = errors_of(scored);
  scored.large = mean_error(part_of(errors, true));
  scored.small = mean_error(part_of(errors, false));
  return scored;
}

enum class Part { all, large, small };

ErrorSummary summarise(const CollectiveValidation& validation, std::optional<CurveFamily> family, bool unseen,
                       Part part) {
  ErrorSummary summary;
  std::vector<SizedError> points;
  std::vector<double> weights;
  double sum = 0;
  for (const ScoredCurve& curve : validation.curves) {
    if (family && curve.family != *family) continue;
    if (unseen && is_fitted(curve.curve)) continue;
    std::vector<SizedError> errors = errors_of(curve);
    if (part != Part::all) errors = part_of(errors, part == Part::large);
    const std::optional<double> mean = mean_error(errors);
    if (!mean) continue;
    const std::vector<double> curve_weights = octave_weights(errors);
    points.insert(points.end(), errors.begin(), errors.end());
    weights.insert(weights.end(), curve_weights.begin(), curve_weights.end());
    sum += *mean;
    ++summary.curves;
    summary.worst = std::max(summary.worst.value_or(0), *mean);
  }
  summary.rows = static_cast<int>(points.size());
  if (summary.curves > 0) summary.mape = sum / summary.curves;
  summary.median = weighted_quantile(points, weights, 0.5);
  summary.p90 = weighted_quantile(points, weights, 0.9);
  return summary;
}

}  // namespace

CollectiveValidation validate_collectives(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                                          const Protocols& constants) {
  CollectiveValidation validation;
  validation.excluded = curves.excluded;
  validation.shipped_errors = shipped_collective_errors(catalogue);
  for (const PublishedRow& row : curves.missed) ++validation.missed[family_by_columns(row)];
  for (const CollectiveCurve& curve : curves.curves) {
    const auto rows = static_cast<int>(curve.points.size());
    const auto leave_out = [&](const std::string& reason) {
      validation.excluded["platform: " + reason] += rows;
      validation.missed[family_by_columns(*curve.points.front().row)] += rows;
    };
    try {
      validation.curves.push_back(score_curve(catalogue, curve, constants));
      validation.scored += rows;
    } catch (const InputError& error) {
      leave_out(error.diagnostics().front().message);
    } catch (const JobImpossible& error) {
      leave_out(error.what());
    }
  }
  return validation;
}

std::optional<double> coverage_of(const CollectiveValidation& validation, std::optional<CurveFamily> family) {
  std::size_t scored = 0;
  int missed = 0;
  for (const ScoredCurve& curve : validation.curves) {
    if (!family || curve.family == *family) scored += curve.points.size();
  }
  for (const auto& [missed_family, rows] : validation.missed) {
    if (!family || missed_family == *family) missed += rows;
  }
  const double all = static_cast<double>(scored) + missed;
  return all > 0 ? std::optional(static_cast<double>(scored) / all) : std::nullopt;
}

double worst_mean(const ScoredCurve& curve) {
  return std::max(curve.large.value_or(0), curve.small.value_or(0));
}

bool is_fitted(const CollectiveCurve& curve) { return curve.split == "calibrate"; }

bool is_named(const ScoredCurve& curve) {
  return worst_mean(curve) > far_off || (curve.curve.outlier != nullptr && curve.curve.outlier->always_named);
}

SplitSummary summary_of(const CollectiveValidation& validation, std::optional<CurveFamily> family,
                        bool unseen) {
  return {summarise(validation, family, unseen, Part::all),
          summarise(validation, family, unseen, Part::large),
          summarise(validation, family, unseen, Part::small)};
}

}  // namespace trainyard
