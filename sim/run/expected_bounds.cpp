#include "run/expected_bounds.hpp"

#include "accuracy/expected_error.hpp"
#include "learn/learn.hpp"
#include "run/figures.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>
#include <vector>

namespace trainyard {
namespace {

using Bounds = std::optional<ErrorBounds>;

ErrorBounds same(const ErrorBounds& speed) { return speed; }
ErrorBounds energy_of_steps(const ErrorBounds& speed) { return energy_bounds(of_inverse(speed)); }
ErrorBounds time_of_job(const ErrorBounds& speed) { return job_time_bounds({}, speed); }
ErrorBounds energy_of_job(const ErrorBounds& speed) { return energy_bounds(time_of_job(speed)); }

/// The bounds of a figure, from those of the throughput. Faults count as declared: the error of their rate is
/// not known.
struct BoundedFigure {
  std::string_view field;
  ErrorBounds (*of_speed)(const ErrorBounds&) = nullptr;
  bool is_of_job = false;  ///< not of one that trains to a target: its number of samples has an error, too
};

constexpr std::array bounded_figures{BoundedFigure{"step_time_s", of_inverse},
                                     BoundedFigure{"throughput_samples_per_s", same},
                                     BoundedFigure{"throughput_tokens_per_s", same},
                                     BoundedFigure{"throughput_tokens_per_s_and_gpu", same},
                                     BoundedFigure{"tokens_per_usd", same},
                                     BoundedFigure{"goodput_samples_per_s", same},
                                     BoundedFigure{"epoch_time_s", of_inverse},
                                     BoundedFigure{"energy_per_step_j", energy_of_steps},
                                     BoundedFigure{"cost_per_epoch_usd", of_inverse},
                                     BoundedFigure{"job_time_s", time_of_job, true},
                                     BoundedFigure{"job_epochs_time_s", time_of_job, true},
                                     BoundedFigure{"job_fit_time_s", time_of_job, true},
                                     BoundedFigure{"job_energy_j", energy_of_job, true},
                                     BoundedFigure{"job_cost_usd", time_of_job, true}};

Bounds bounds_in(const Run& run, std::string_view field) {
  if (field == "accuracy_at_end") {
    const Known<ErrorBounds> bounds = bounds_of_end_accuracy(run);
    return bounds ? Bounds(*bounds) : std::nullopt;
  }
  if (field == "average_power_w") return power_bounds;
  // a trace states its memory
  if (field == "memory_peak_bytes") return run.experiment.model ? Bounds(memory_bounds) : std::nullopt;
  if (!run.expected_error) return std::nullopt;
  // elsewhere pairs of published runs say how far off a ratio of two is
  if (field == "speedup" && run.expected_error->is_of_other_machines) return bounds_of(*run.expected_error);
  return bounds_from_speed(field, bounds_of(*run.expected_error), run.job && run.job->target);
}

std::optional<FigureBounds> expected_bounds_of(const Run& run, const Figure& figure) {
  const Bounds bounds = bounds_in(run, figure.field);
  if (!bounds) return std::nullopt;
  const Known<FigureValue> value = figure.of(run);
  if (!value) return std::nullopt;
  const double number = std::get<double>(*value);
  return FigureBounds{
      .field = figure.field, .low = (1 + bounds->low) * number, .high = (1 + bounds->high) * number};
}

}  // namespace

std::vector<FigureBounds> expected_bounds(const Run& run) {
  std::vector<FigureBounds> all;
  for (const Figure& figure : figures()) {
    if (const auto bounds = expected_bounds_of(run, figure)) all.push_back(*bounds);
  }
  return all;
}

std::optional<FigureBounds> expected_bounds(const Run& run, std::string_view field) {
  if (!bounds_in(run, field)) return std::nullopt;  // also of a figure of another table
  return expected_bounds_of(run, figures()[index_of(field)]);
}

std::optional<ErrorBounds> bounds_from_speed(std::string_view field, const ErrorBounds& speed,
                                             bool has_target) {
  const auto* const found = std::ranges::find(bounded_figures, field, &BoundedFigure::field);
  if (found == bounded_figures.end() || (found->is_of_job && has_target)) return std::nullopt;
  return found->of_speed(speed);
}

Known<ErrorBounds> bounds_of_end_accuracy(const Run& run) {
  if (!run.learning || !run.learning->end_accuracy.median) return unknown("no accuracy is known at the end");
  const Learning& learning = *run.learning;
  std::vector<double> accuracies;
  for (const LearningRun& repeat : learning.repeats) {
    if (repeat.curve.empty() || !repeat.curve.back().test_error)
      return unknown("a repeat ends without an accuracy");
    accuracies.push_back(1 - *repeat.curve.back().test_error);
  }
  if (!learning.test_samples) return unknown("there are no test samples, on which another run would differ");
  if (accuracies.size() < 2) return unknown("one repeat does not show how far another may be from it");
  const double centre = mean(accuracies);
  const double error = run.experiment.settings.learn->accuracy_error.value_or(0);
  const NextValue next =
      next_value(accuracies, expected_share, centre * (1 - centre) / *learning.test_samples + error * error);
  const double median = *learning.end_accuracy.median;
  return ErrorBounds{.low = std::max(0.0, next.low) / median - 1,
                     .high = std::min(1.0, next.high) / median - 1};
}

Known<ErrorBounds> bounds_of_target(const Run& run) {
  if (!run.expected_error) return unknown(run.expected_error.error());
  const ReachedTarget& target = run.job->target.value();
  return job_time_bounds(
      {.low = target.samples_low / target.samples - 1, .high = target.samples_high / target.samples - 1},
      bounds_of(*run.expected_error));
}

Known<ErrorBounds> energy_bounds_of_target(const Run& run) {
  const Known<ErrorBounds> time = bounds_of_target(run);
  return time ? Known<ErrorBounds>(energy_bounds(*time)) : time;
}

}  // namespace trainyard
