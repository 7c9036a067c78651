#include "study/validate.hpp"

#include "collectives/operation.hpp"
#include "platform/channels.hpp"
#include "study/collective_sweep.hpp"
#include "study/curve_model.hpp"

#include <algorithm>
#include <numeric>

namespace trainyard {
namespace {

CurveFamily family_of(const Cluster& cluster) {
  if (cluster.nodes > 1) return CurveFamily::several_nodes;
  const ChannelFacts facts = channel_facts(cluster, ring_channels(cluster));
  return facts.has_nvlinks_alone() ? CurveFamily::nvlink : CurveFamily::pcie;
}

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
  ScoredPoint scored{.point = &point, .algorithm = last.algorithm, .protocol = last.protocol};
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

std::vector<SizedError> errors_of(const ScoredCurve& curve) {
  std::vector<SizedError> errors;
  for (const ScoredPoint& scored : curve.points) errors.push_back({scored.point->size(), scored.error});
  return errors;
}

ScoredCurve score_curve(const config::Catalogue& catalogue, const CollectiveCurve& curve,
                        const Protocols& constants) {
  const Cluster cluster = cluster_of(catalogue, curve);
  const CollectiveSweep sweep{
      .operation = curve.operation,
      .algorithm = curve.demands_ring ? Algorithm::ring : Algorithm::automatic,
      .groups = {},
      .sizes = sizes_of(curve),
      .software = {.version = curve.nccl, .costs = costs_of(constants, curve.nccl, cluster.platform.fabric)},
      .gpus_per_process = curve.gpus_per_process,
      .fidelity = Fidelity::closed};
  const CollectiveReport report = time_collective(cluster, sweep);
  ScoredCurve scored{.curve = &curve, .family = family_of(cluster), .points = {}, .large = {}, .small = {}};
  for (const CurvePoint& point : curve.points) scored.points.push_back(score(point, report));
  const std::vector<SizedError> errors = errors_of(scored);
  scored.large = mean_error(part_of(errors, true));
  scored.small = mean_error(part_of(errors, false));
  return scored;
}

enum class Part { all, large, small };

ErrorSummary summarise(const Validation& validation, std::optional<CurveFamily> family, bool unseen,
                       Part part) {
  ErrorSummary summary;
  std::vector<SizedError> points;
  std::vector<double> weights;
  double sum = 0;
  for (const ScoredCurve& curve : validation.curves) {
    if (family && curve.family != *family) continue;
    if (unseen && curve.curve->split == "calibrate") continue;
    std::vector<SizedError> errors = errors_of(curve);
    if (part != Part::all) errors = part_of(errors, part == Part::large);
    const std::optional<double> mean = mean_error(errors);
    if (!mean) continue;
    const std::vector<double> its_weights = octave_weights(errors);
    points.insert(points.end(), errors.begin(), errors.end());
    weights.insert(weights.end(), its_weights.begin(), its_weights.end());
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

Validation validate_collectives(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                                const Protocols& constants) {
  Validation validation;
  validation.excluded = curves.excluded;
  for (const CollectiveCurve& curve : curves.curves) {
    const auto rows = static_cast<int>(curve.points.size());
    try {
      validation.curves.push_back(score_curve(catalogue, curve, constants));
      validation.scored += rows;
    } catch (const InputError& error) {
      validation.excluded["its platform: " + error.diagnostics().front().message] += rows;
    } catch (const JobImpossible& error) {
      validation.excluded["its platform: " + std::string(error.what())] += rows;
    }
  }
  return validation;
}

SplitSummary summary_of(const Validation& validation, std::optional<CurveFamily> family, bool unseen) {
  return {summarise(validation, family, unseen, Part::all),
          summarise(validation, family, unseen, Part::large),
          summarise(validation, family, unseen, Part::small)};
}

}  // namespace trainyard
