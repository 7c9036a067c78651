#include "run/expected_bounds.hpp"

#include "run/figures.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <variant>

namespace trainyard {
namespace {

using Bounds = std::optional<ErrorBounds>;

Bounds of_speed(const Run& run) {
  if (!run.expected_error) return std::nullopt;
  return ErrorBounds{run.expected_error->low, run.expected_error->high};
}

Bounds of_time(const Run& run) {
  const Bounds speed = of_speed(run);
  return speed ? Bounds(of_inverse(*speed)) : std::nullopt;
}

Bounds of_energy(const Run& run) {
  const Bounds time = of_time(run);
  return time ? Bounds(of_product(*time, power_bounds)) : std::nullopt;
}

Bounds of_job_time(const Run& run) {
  const Bounds speed = of_speed(run);
  return speed ? Bounds(job_time_bounds({}, *speed)) : std::nullopt;
}

Bounds of_job_energy(const Run& run) {
  const Bounds time = of_job_time(run);
  return time ? Bounds(of_product(*time, power_bounds)) : std::nullopt;
}

Bounds of_power(const Run&) { return power_bounds; }

/// A trace states its memory.
Bounds of_memory(const Run& run) { return run.experiment.model ? Bounds(memory_bounds) : std::nullopt; }

/// By figure. Faults count as declared: the error of their rate is not known.
struct BoundedFigure {
  std::string_view field;
  Bounds (*bounds)(const Run&);
};

constexpr std::array bounded_figures{BoundedFigure{"step_time_s", of_time},
                                     BoundedFigure{"throughput_samples_per_s", of_speed},
                                     BoundedFigure{"throughput_tokens_per_s", of_speed},
                                     BoundedFigure{"goodput_samples_per_s", of_speed},
                                     BoundedFigure{"epoch_time_s", of_time},
                                     BoundedFigure{"memory_peak_bytes", of_memory},
                                     BoundedFigure{"energy_per_step_j", of_energy},
                                     BoundedFigure{"average_power_w", of_power},
                                     BoundedFigure{"cost_per_epoch_usd", of_time},
                                     BoundedFigure{"job_time_s", of_job_time},
                                     BoundedFigure{"job_epochs_time_s", of_job_time},
                                     BoundedFigure{"job_energy_j", of_job_energy},
                                     BoundedFigure{"job_cost_usd", of_job_time}};

/// Nothing where the figure has no value, or its measured value no bounds.
std::optional<FigureBounds> bounds_of(const Run& run, const Figure& figure) {
  const auto* const found = std::ranges::find(bounded_figures, figure.field, &BoundedFigure::field);
  if (found == bounded_figures.end()) return std::nullopt;
  const Known<FigureValue> value = figure.of(run);
  const Bounds bounds = found->bounds(run);
  if (!value || !bounds) return std::nullopt;
  const double number = std::get<double>(*value);
  return FigureBounds{
      .field = figure.field, .low = (1 + bounds->low) * number, .high = (1 + bounds->high) * number};
}

/// A job that trains to a target has an interval of its own, with that of the samples.
bool is_of_whole_job(std::string_view field) { return field.starts_with("job_"); }

}  // namespace

std::vector<FigureBounds> expected_bounds(const Run& run) {
  std::vector<FigureBounds> all;
  for (const Figure& figure : figures()) {
    if (const auto bounds = expected_bounds(run, figure.field)) all.push_back(*bounds);
  }
  return all;
}

std::optional<FigureBounds> expected_bounds(const Run& run, std::string_view field) {
  if (is_of_whole_job(field) && run.job && run.job->target) return std::nullopt;
  return bounds_of(run, figures()[index_of(field)]);
}

Known<ErrorBounds> bounds_of_target(const Run& run) {
  if (!run.expected_error) return unknown(run.expected_error.error());
  const ReachedTarget& target = run.job->target.value();
  return job_time_bounds({.low = target.samples_low / target.samples - 1,
                          .high = target.samples_high / target.samples - 1},
                         {.low = run.expected_error->low, .high = run.expected_error->high});
}

Known<ErrorBounds> energy_bounds_of_target(const Run& run) {
  const Known<ErrorBounds> time = bounds_of_target(run);
  if (!time) return time;
  return of_product(*time, power_bounds);
}

}  // namespace trainyard
