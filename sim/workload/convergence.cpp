#include "workload/convergence.hpp"

#include "units/plural.hpp"
#include "workload/interval_of_80_percent.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr double counting_error = 1e-9;

std::vector<ConvergencePoint> without(const std::vector<ConvergencePoint>& points, std::size_t left_out) {
  std::vector<ConvergencePoint> remaining = points;
  remaining.erase(remaining.begin() + static_cast<std::ptrdiff_t>(left_out));
  return remaining;
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

/// Relative, of a single run. Points that state none have that of the others.
double deviation_at(const std::vector<ConvergencePoint>& points, double batch) {
  std::vector<double> stated;
  for (const ConvergencePoint& point : points) {
    if (point.deviation) stated.push_back(*point.deviation / point.samples);
  }
  const double usual = root_mean_square(stated);
  return interpolated(points, batch, [&](const ConvergencePoint& point) {
    return point.deviation ? *point.deviation / point.samples : usual;
  });
}

/// |log(a / b)|; the points' numbers are far from the ends of doubles.
double log_ratio(double a, double b) { return std::abs(std::log(a / b)); }

/// The largest effect of settings that a recipe leaves open, such as warm-up, as a logarithm. Chosen with the
/// samples of MLPerf's BERT submissions in view.
constexpr double of_other_settings = 0.02;

/// Half the width of the interval that the curve itself has at the batch, as a logarithm.
double half_of_curve(const std::vector<ConvergencePoint>& points, double batch) {
  const ConvergencePoint& first = points.front();
  const ConvergencePoint& last = points.back();
  if (points.size() < 2) return 0;
  if (points.size() < 3) return log_ratio(last.samples, first.samples);
  const LogErrors between = left_out_errors_of_interpolation(points);
  const double inside = students_t_of_80_percent(between.size()) * root_mean_square(between);
  if (first.batch <= batch && batch <= last.batch) return inside;
  // As a random walk: the variance grows with the distance, measured in gaps between points.
  const double gap = log_ratio(last.batch, first.batch) / static_cast<double>(points.size() - 1);
  const double distance = log_ratio(batch, batch < first.batch ? first.batch : last.batch);
  const LogErrors errors = left_out_errors_of_law(points);
  // Two of the errors' degrees of freedom are the law's own.
  const double of_law = students_t_of_80_percent(errors.size() - 2) * root_mean_square(errors);
  return std::max(inside, of_law) * std::sqrt(1 + distance / gap);
}

/// The saving of a batch below the points, as a logarithm.
double saved_below(const std::vector<ConvergencePoint>& points, double batch) {
  const ConvergencePoint& first = points.front();
  if (batch >= first.batch) return 0;
  if (points.size() < 2) return log_ratio(first.batch, batch);
  const ConvergenceLaw law = law_of(points);
  return log_ratio(samples_at(law, first.batch), samples_at(law, batch));
}

/// "1,632": batches are whole, but for odd averages.
std::string count_of(double number) { return grouped(std::llround(number)); }

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
  for (const double error : left_out_errors_of_interpolation(points)) sum += std::abs(std::exp(error) - 1);
  return sum / static_cast<double>(points.size() - 2);
}

LogErrors left_out_errors_of_interpolation(const std::vector<ConvergencePoint>& points) {
  LogErrors errors;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double without_it =
        interpolated(without(points, i), points[i].batch, [](const auto& point) { return point.samples; });
    errors.push_back(std::log(without_it / points[i].samples));
  }
  return errors;
}

LogErrors left_out_errors_of_law(const std::vector<ConvergencePoint>& points) {
  LogErrors errors;
  if (points.size() < 3) return errors;
  for (std::size_t i = 0; i < points.size(); ++i)
    errors.push_back(std::log(samples_at(fitted(without(points, i)), points[i].batch) / points[i].samples));
  return errors;
}

Known<SamplesToTarget> samples_to_target(const Convergence& convergence, double batch, int runs) {
  const std::vector<ConvergencePoint>& points = convergence.points;
  const double first = points.front().batch;
  const double last = points.back().batch;
  const double within = std::clamp(batch, first, last);
  SamplesToTarget found;
  found.samples = interpolated(points, within, [](const auto& point) { return point.samples; });
  if (batch < first) found.range = BatchRange::below;
  if (batch > last) {
    if (points.size() < 3) return unknown("the largest batch of the published runs is " + count_of(last));
    if (batch > most_extrapolation * last)
      return unknown(fmt::format("a batch of {} is more than twice the largest of the published runs, {}",
                                 count_of(batch), count_of(last)));
    const ConvergenceLaw law = law_of(points);
    found.range = BatchRange::beyond;
    found.samples = samples_at(law, batch) * points.back().samples / samples_at(law, last);
  }
  const double published_runs =
      interpolated(points, within, [](const ConvergencePoint& point) { return 1.0 * point.runs; });
  const double of_runs =
      normal_of_80_percent * deviation_at(points, within) * std::sqrt(1.0 / runs + 1 / published_runs);
  const double of_curve = half_of_curve(points, batch);
  const double half = std::hypot(of_runs, of_curve);
  found.low = found.samples * std::exp(-std::hypot(half, saved_below(points, batch)) - of_other_settings);
  found.high = found.samples * std::exp(half + of_other_settings);
  if (convergence.evaluate && convergence.evaluate->every_samples) {
    const double between = samples_between(*convergence.evaluate, batch, {}).value();
    // one evaluation earlier, but none before the first
    const double earlier = std::max(found.samples - between, std::min(found.samples, between));
    found.low = std::min(found.low, earlier);
    found.high = std::max(found.high, found.samples + between);
  }
  return found;
}

std::optional<double> samples_between(const TargetEvaluation& evaluation, double batch,
                                      const std::optional<double>& samples_per_epoch) {
  if (evaluation.every_epochs) {
    if (!samples_per_epoch) return std::nullopt;
    return *evaluation.every_epochs * *samples_per_epoch;
  }
  const double sum = evaluation.every_samples.value() + evaluation.per_batch * batch;
  if (evaluation.whole_updates) return std::ceil(sum / batch - counting_error) * batch;
  return std::max(1.0, std::floor(sum / evaluation.multiple + counting_error)) * evaluation.multiple;
}

double evaluations_until(const TargetEvaluation& evaluation, double samples, double between, double batch) {
  const double skipped = std::floor(evaluation.skip + evaluation.skip_per_batch * batch + counting_error);
  return std::max(1.0, std::ceil(samples / between - counting_error) - skipped);
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
  const Convergence* only = nullptr;
  int number = 0;
  for (const Convergence& curve : curves) {
    if (std::ranges::find(curve.rounds, round) == curve.rounds.end()) continue;
    if (curve.optimizer == optimizer) return &curve;
    only = &curve;
    ++number;
  }
  return optimizer.empty() && number == 1 ? only : nullptr;
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
    const TargetEvaluation& evaluation = *curve.evaluate;
    if (evaluation.every_epochs.has_value() == evaluation.every_samples.has_value())
      problems.error(key + ".evaluate", "'every_epochs' or 'every_samples' is needed, and not both",
                     "every_epochs: 1");
    if (evaluation.every_epochs &&
        (evaluation.per_batch != 0 || evaluation.multiple != 1 || evaluation.whole_updates))
      problems.error(key + ".evaluate",
                     "'per_batch', 'multiple' and 'whole_updates' belong to 'every_samples'",
                     "leave them out, or state every_samples");
    if (evaluation.multiple != 1 && evaluation.whole_updates)
      problems.error(key + ".evaluate", "an interval is rounded in one way: 'multiple' or 'whole_updates'",
                     "keep one of them");
  }
}

}  // namespace trainyard
