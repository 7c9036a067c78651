#include "workload/fixed_epochs.hpp"

#include "units/plural.hpp"
#include "workload/interval_of_80_percent.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

using Points = std::vector<AccuracyPoint>;

/// On the line through two points, in the logarithm of the batch.
template <class Value>
double on_line(const AccuracyPoint& a, const AccuracyPoint& b, double batch, const Value& value_of) {
  const double part = std::log(batch / a.batch) / std::log(b.batch / a.batch);
  return value_of(a) + part * (value_of(b) - value_of(a));
}

double accuracy_of(const AccuracyPoint& point) { return point.accuracy; }

/// The points on both sides of a batch; the last two if it is beyond all of them.
std::pair<const AccuracyPoint*, const AccuracyPoint*> neighbours(const Points& points, double batch) {
  const auto above = std::ranges::lower_bound(points, batch, {}, &AccuracyPoint::batch);
  const auto upper = std::clamp(above, points.begin() + 1, points.end() - 1);
  return {&*(upper - 1), &*upper};
}

std::vector<double> interpolation_errors(const Points& points) {
  std::vector<double> errors;
  for (std::size_t i = 1; i + 1 < points.size(); ++i)
    errors.push_back(on_line(points[i - 1], points[i + 1], points[i].batch, accuracy_of) -
                     points[i].accuracy);
  return errors;
}

std::vector<double> extrapolation_errors(const Points& points) {
  std::vector<double> errors;
  for (std::size_t i = 2; i < points.size(); ++i)
    errors.push_back(on_line(points[i - 2], points[i - 1], points[i].batch, accuracy_of) -
                     points[i].accuracy);
  return errors;
}

/// The deviation of a point's runs; where it states none, that of the others.
double usual_deviation(const Points& points) {
  std::vector<double> stated;
  for (const AccuracyPoint& point : points) {
    if (point.deviation) stated.push_back(*point.deviation);
  }
  return root_mean_square(stated);
}

/// Half the width of the interval around the line between the points: from points that are left out; with two
/// points, the difference between them.
double half_of_line(const Points& points, double batch) {
  if (points.size() < 2) return 0;
  if (points.size() < 3) return std::abs(points.front().accuracy - points.back().accuracy);
  const std::vector<double> errors =
      batch > points.back().batch ? extrapolation_errors(points) : interpolation_errors(points);
  return students_t_of_80_percent(errors.size()) * root_mean_square(errors);
}

}  // namespace

Known<AccuracyAtEnd> accuracy_at_end(const FixedEpochs& table, double batch) {
  const Points& points = table.points;
  const double first = points.front().batch;
  const double last = points.back().batch;
  if (batch > (points.size() < 3 ? 1 : most_extrapolation) * last)
    return unknown(fmt::format("a batch of {} is beyond the published ones, at most {}",
                               grouped(std::llround(batch)), grouped(std::llround(last))));
  AccuracyAtEnd found;
  if (batch < first) found.range = BatchRange::below;
  if (batch > last) found.range = BatchRange::beyond;
  const double from = std::max(batch, first);
  const double usual = usual_deviation(points);
  const auto deviation_of = [&](const AccuracyPoint& point) { return point.deviation.value_or(usual); };
  double deviation = deviation_of(points.front());
  found.accuracy = points.front().accuracy;
  double runs = points.front().runs;
  if (points.size() > 1) {
    const auto [below, above] = neighbours(points, from);
    found.accuracy = std::clamp(on_line(*below, *above, from, accuracy_of), 0.0, 1.0);
    const double within = std::min(from, last);
    deviation = on_line(*below, *above, within, deviation_of);
    runs = on_line(*below, *above, within, [](const AccuracyPoint& point) { return 1.0 * point.runs; });
  }
  for (const AccuracyPoint& point : points) {
    if (point.batch == batch) found.published = batch;
  }
  const double of_runs = normal_of_80_percent * deviation * std::sqrt(1 + 1 / runs);
  // Where no scatter from run to run is known, a published point may be as far off as the line between
  // others.
  const bool is_exact = found.published && usual > 0;
  const double half = std::hypot(of_runs, is_exact ? 0 : half_of_line(points, batch));
  found.low = std::max(0.0, found.accuracy - half);
  found.high = std::min(1.0, found.accuracy + half);
  return found;
}

const FixedEpochs* fixed_epochs_for(const std::vector<FixedEpochs>& tables, double epochs,
                                    std::string_view optimizer) {
  constexpr double rounding = 1e-9;
  const FixedEpochs* last = nullptr;
  for (const FixedEpochs& table : tables) {
    if (table.optimizer == optimizer && std::abs(table.epochs - epochs) <= rounding * epochs) last = &table;
  }
  return last;
}

void check_fixed_epochs(const std::vector<FixedEpochs>& tables, config::Problems& problems) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Points& points = tables[i].points;
    const std::string key = fmt::format("fixed_epochs[{}].points", i);
    if (points.empty()) problems.error(key, "no points", "add '- {batch: 256, accuracy: 0.764}'");
    for (std::size_t k = 1; k < points.size(); ++k) {
      if (points[k].batch > points[k - 1].batch) continue;
      problems.error(fmt::format("{}[{}].batch", key, k), "the batches do not increase",
                     "sort the points by batch, one for each");
      break;
    }
  }
}

}  // namespace trainyard
