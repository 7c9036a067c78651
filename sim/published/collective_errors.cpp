// Between validated curves and the errors from which `collective` takes its interval.

#include "config/keys.hpp"
#include "published/case_intervals.hpp"
#include "published/validate.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// Above -1 on both sides: ratios of bandwidths.
double ratio_of(const ScoredPoint& point) { return 1 + point.error; }

/// Source, platform and operation, which the curves of a series have in common.
using CurveSeries = std::tuple<std::string, std::string, std::string>;

CurveSeries curve_series(std::string source, const CurveSubject& of) {
  return {std::move(source), of.platform, of.operation};
}

bool has_sizes_of(const ScoredCurve& curve, SizeRange range) {
  return std::ranges::any_of(curve.points,
                             [&](const ScoredPoint& point) { return range_of(point.point.size()) == range; });
}

double share_inside(const ScoredCurve& curve, SizeRange range, const CollectiveError& interval) {
  int points = 0;
  int inside = 0;
  for (const ScoredPoint& point : curve.points) {
    if (range_of(point.point.size()) != range) continue;
    ++points;
    inside += covers(interval, point.error) ? 1 : 0;
  }
  return 1.0 * inside / points;
}

}  // namespace

CurveSubject subject_of(const ScoredCurve& scored) {
  const CollectiveCurve& curve = scored.curve;
  return {.operation = std::string(config::name_of(curve.operation)),
          .platform = curve.machine->platform,
          .links = std::string(config::name_of(scored.family)),
          .compute_capability = scored.compute_capability,
          .gpus = curve.gpus,
          .nodes = curve.nodes};
}

CollectiveErrors collective_errors(const CollectiveValidation& validation) {
  CollectiveErrors errors;
  std::map<CurveSeries, int> series;
  for (const ScoredCurve& scored : validation.curves) {
    const PublishedRow& row = *scored.curve.points.front().row;
    const CurveSubject of = subject_of(scored);
    const auto number = static_cast<int>(series.size()) + 1;
    PublishedCurve& curve = errors.curves.emplace_back(
        PublishedCurve{.of = of,
                       .series = series.try_emplace(curve_series(row.source, of), number).first->second,
                       .is_fitted = is_fitted(scored.curve),
                       .place = place_of(row),
                       .source = row.source});
    for (const ScoredPoint& point : scored.points)
      curve.points.push_back({.size = point.point.size(), .ratio = ratio_of(point)});
  }
  fit_widenings(errors);
  return errors;
}

std::optional<int> shipped_series_of(const CollectiveErrors& shipped, const ScoredCurve& curve) {
  const auto key = curve_series(curve.curve.points.front().row->source, subject_of(curve));
  const auto found = std::ranges::find(
      shipped.curves, key, [](const PublishedCurve& known) { return curve_series(known.source, known.of); });
  return found == shipped.curves.end() ? std::nullopt : std::optional(found->series);
}

std::optional<PointCoverage> point_coverage(const CollectiveValidation& validation, SizeRange range,
                                            std::optional<CurveFamily> family) {
  if (!validation.shipped_errors) return std::nullopt;
  const CollectiveErrors& shipped = *validation.shipped_errors;
  PointCoverage coverage;
  std::vector<double> halves;
  std::vector<double> held_out_halves;
  for (const ScoredCurve& curve : validation.curves) {
    if ((family && curve.family != *family) || !has_sizes_of(curve, range)) continue;
    const auto printed = collective_error(shipped, subject_of(curve), range);
    const auto held_out =
        collective_error(shipped, subject_of(curve), range, shipped_series_of(shipped, curve));
    if (!printed || !held_out) continue;
    ++coverage.curves;
    coverage.covered += share_inside(curve, range, *printed);
    coverage.held_out_covered += share_inside(curve, range, *held_out);
    halves.push_back((printed->high - printed->low) / 2);
    held_out_halves.push_back((held_out->high - held_out->low) / 2);
  }
  if (coverage.curves == 0) return std::nullopt;
  coverage.covered /= coverage.curves;
  coverage.held_out_covered /= coverage.curves;
  coverage.half_width = quantile(halves, 0.5);
  coverage.held_out_half_width = quantile(held_out_halves, 0.5);
  return coverage;
}

}  // namespace trainyard
