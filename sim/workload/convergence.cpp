#include "workload/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr double counting_error = 1e-9;

/// Half the width of an interval with 80 % of a normal distribution, in standard deviations.
constexpr double of_80_percent = 1.2815515655446004;

/// The standard deviation of a normal distribution over its mean absolute value: sqrt(pi / 2).
constexpr double deviation_of_mean_error = 1.2533141373155003;

std::vector<ConvergencePoint> without(const std::vector<ConvergencePoint>& points, std::size_t left_out) {
  std::vector<ConvergencePoint> others = points;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
  return others;
}

/// S = a + b B by least squares of (a + b B) / S - 1.
ConvergenceLaw fitted(const std::vector<ConvergencePoint>& points) {
  double w = 0, wb = 0, wbb = 0, ws = 0, wbs = 0;
  for (const ConvergencePoint& point : points) {
    const double weight = 1 / (point.samples * point.samples);
    w += weight;
    wb += weight * point.batch;
    wbb += weight * point.batch * point.batch;
    ws += weight * point.samples;
    wbs += weight * point.batch * point.samples;
  }
  const double determinant = w * wbb - wb * wb;
  const double slope = (w * wbs - wb * ws) / determinant;
  const double fewest = (ws - slope * wb) / w;
  if (slope <= 0 || fewest <= 0) return {.fewest = ws / w};
  return {.fewest = fewest, .critical = fewest / slope};
}

/// Linear between the points around the batch, which lies between the first and the last one.
template <class Value>
double interpolated(const std::vector<ConvergencePoint>& points, double batch, const Value& value_of) {
  const auto above = std::ranges::lower_bound(points, batch, {}, &ConvergencePoint::batch);
  if (above == points.begin() || above->batch == batch) return value_of(*above);
  const ConvergencePoint& below = *(above - 1);
  const double part = (batch - below.batch) / (above->batch - below.batch);
  return value_of(below) + part * (value_of(*above) - value_of(below));
}

double relative_deviation(const ConvergencePoint& point) {
  return point.deviation.value_or(0) / point.samples;
}

std::string bare_text(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (c != ' ') kept += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return kept;
}

}  // namespace

double samples_at(const ConvergenceLaw& law, double batch) {
  return law.fewest * (law.critical ? 1 + batch / *law.critical : 1);
}

ConvergenceLaw law_of(const std::vector<ConvergencePoint>& points) {
  ConvergenceLaw law = fitted(points);
  for (const ConvergencePoint& point : points) {
    const double error = std::abs(samples_at(law, point.batch) / point.samples - 1);
    law.mean_error += error / static_cast<double>(points.size());
    law.worst_error = std::max(law.worst_error, error);
  }
  if (points.size() < 3) return law;
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    sum += std::abs(samples_at(fitted(without(points, i)), points[i].batch) / points[i].samples - 1);
  law.left_out_error = sum / static_cast<double>(points.size());
  return law;
}

std::optional<double> left_out_error(const std::vector<ConvergencePoint>& points) {
  if (points.size() < 3) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double without_it =
        interpolated(without(points, i), points[i].batch, [](const auto& point) { return point.samples; });
    sum += std::abs(without_it / points[i].samples - 1);
  }
  return sum / static_cast<double>(points.size() - 2);
}

Known<SamplesToTarget> samples_to_target(const Convergence& convergence, double batch) {
  const std::vector<ConvergencePoint>& points = convergence.points;
  const double first = points.front().batch;
  const double last = points.back().batch;
  SamplesToTarget found;
  double deviation = 0;
  std::optional<double> error;
  if (batch <= last) {
    const double within = std::max(batch, first);
    if (batch < first) found.range = BatchRange::smaller;
    found.samples = interpolated(points, within, [](const auto& point) { return point.samples; });
    deviation = interpolated(points, within, relative_deviation);
    error = left_out_error(points);
  } else {
    if (points.size() < 3)
      return unknown(fmt::format("the largest batch of the published runs is {:.0f}", last));
    if (batch > most_extrapolation * last)
      return unknown(fmt::format(
          "a batch of {:.0f} is more than twice the largest of the published runs, {:.0f}", batch, last));
    const ConvergenceLaw law = law_of(points);
    found.range = BatchRange::larger;
    found.samples = samples_at(law, batch) * points.back().samples / samples_at(law, last);
    deviation = relative_deviation(points.back());
    error = law.left_out_error;
  }
  const double half = of_80_percent * std::hypot(deviation, deviation_of_mean_error * error.value_or(0));
  found.low = found.samples / (1 + half);
  found.high = found.samples * (1 + half);
  return found;
}

std::optional<double> samples_between(const TargetEvaluation& evaluation, double batch,
                                      const std::optional<double>& samples_per_epoch) {
  if (evaluation.every_epochs) {
    if (!samples_per_epoch) return std::nullopt;
    return *evaluation.every_epochs * *samples_per_epoch;
  }
  const double sum = evaluation.every_samples.value() + evaluation.per_batch * batch;
  return std::max(1.0, std::floor(sum / evaluation.multiple + counting_error)) * evaluation.multiple;
}

double at_evaluation(double samples, double between) {
  return std::max(1.0, std::ceil(samples / between - counting_error)) * between;
}

double on_other_grid(double samples, double published_between, double between) {
  return at_evaluation(std::max(0.0, samples - published_between / 2), between);
}

const Convergence* convergence_for(const std::vector<Convergence>& curves, std::string_view target,
                                   std::string_view optimizer) {
  const Convergence* last = nullptr;
  for (const Convergence& curve : curves) {
    if (!is_same_target(curve.target, target)) continue;
    // The experiment's own optimizer comes first, then the newest recipe.
    if (last != nullptr && last->optimizer == optimizer && curve.optimizer != optimizer) continue;
    last = &curve;
  }
  return last;
}

const Convergence* convergence_of_round(const std::vector<Convergence>& curves, std::string_view round,
                                        std::string_view optimizer) {
  for (const Convergence& curve : curves) {
    const bool is_of_round = std::ranges::find(curve.rounds, round) != curve.rounds.end();
    if (is_of_round && curve.optimizer == optimizer) return &curve;
  }
  return nullptr;
}

std::vector<std::string> targets_of(const std::vector<Convergence>& curves) {
  std::vector<std::string> targets;
  for (const Convergence& curve : curves) {
    const auto is_it = [&](const std::string& known) { return is_same_target(known, curve.target); };
    if (std::ranges::none_of(targets, is_it)) targets.push_back(curve.target);
  }
  return targets;
}

bool is_same_target(std::string_view one, std::string_view other) {
  return bare_text(one) == bare_text(other);
}

void check_convergence(const std::vector<Convergence>& curves, config::Problems& problems) {
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Convergence& curve = curves[i];
    const std::string key = fmt::format("convergence[{}]", i);
    if (curve.points.empty())
      problems.error(key + ".points", "no points", "add '- {batch: 256, samples: 2.5e6}'");
    for (std::size_t k = 1; k < curve.points.size(); ++k) {
      if (curve.points[k].batch > curve.points[k - 1].batch) continue;
      problems.error(fmt::format("{}.points[{}].batch", key, k), "the batches do not increase",
                     "sort the points by batch, one for each");
      break;
    }
    if (!curve.evaluate) continue;
    const TargetEvaluation& its = *curve.evaluate;
    if (its.every_epochs.has_value() == its.every_samples.has_value())
      problems.error(key + ".evaluate", "'every_epochs' or 'every_samples' is needed, and not both",
                     "every_epochs: 1");
    if (its.every_epochs && (its.per_batch != 0 || its.multiple != 1))
      problems.error(key + ".evaluate", "'per_batch' and 'multiple' belong to 'every_samples'",
                     "leave them out, or state every_samples");
  }
}

}  // namespace trainyard
