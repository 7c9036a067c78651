#include "run/expected_bounds.hpp"

#include "run/figures.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <variant>

namespace trainyard {
namespace {

using Bounds = std::optional<ErrorBounds>;

/// Bounds of a figure that `from` derives from the throughput.
template <class From>
Bounds from_speed(const Run& run, From from) {
  return run.expected_error ? Bounds(from(bounds_of(*run.expected_error))) : std::nullopt;
}

Bounds speed_bounds(const Run& run) {
  return from_speed(run, [](const ErrorBounds& speed) { return speed; });
}
Bounds time_bounds(const Run& run) { return from_speed(run, of_inverse); }
Bounds step_energy_bounds(const Run& run) {
  return from_speed(run, [](const ErrorBounds& speed) { return energy_bounds(of_inverse(speed)); });
}
/// Not for a job that trains to a target: its number of samples has an error, too (bounds_of_target).
Bounds whole_job_bounds(const Run& run) {
  if (run.job->target) return std::nullopt;
  return from_speed(run, [](const ErrorBounds& speed) { return job_time_bounds({}, speed); });
}
Bounds whole_job_energy_bounds(const Run& run) {
  const Bounds time = whole_job_bounds(run);
  return time ? Bounds(energy_bounds(*time)) : std::nullopt;
}
Bounds average_power_bounds(const Run&) { return power_bounds; }
/// None for a trace, which states its memory.
Bounds peak_memory_bounds(const Run& run) {
  return run.experiment.model ? Bounds(memory_bounds) : std::nullopt;
}

/// The bounds of a figure. Faults count as declared: the error of their rate is not known.
struct BoundedFigure {
  std::string_view field;
  Bounds (*bounds)(const Run&);
};

constexpr std::array bounded_figures{BoundedFigure{"step_time_s", time_bounds},
                                     BoundedFigure{"throughput_samples_per_s", speed_bounds},
                                     BoundedFigure{"throughput_tokens_per_s", speed_bounds},
                                     BoundedFigure{"goodput_samples_per_s", speed_bounds},
                                     BoundedFigure{"epoch_time_s", time_bounds},
                                     BoundedFigure{"memory_peak_bytes", peak_memory_bounds},
                                     BoundedFigure{"energy_per_step_j", step_energy_bounds},
                                     BoundedFigure{"average_power_w", average_power_bounds},
                                     BoundedFigure{"cost_per_epoch_usd", time_bounds},
                                     BoundedFigure{"job_time_s", whole_job_bounds},
                                     BoundedFigure{"job_epochs_time_s", whole_job_bounds},
                                     BoundedFigure{"job_fit_time_s", whole_job_bounds},
                                     BoundedFigure{"job_energy_j", whole_job_energy_bounds},
                                     BoundedFigure{"job_cost_usd", whole_job_bounds}};

std::optional<FigureBounds> expected_bounds_of(const Run& run, const Figure& figure) {
  const auto* const found = std::ranges::find(bounded_figures, figure.field, &BoundedFigure::field);
  if (found == bounded_figures.end()) return std::nullopt;
  const Known<FigureValue> value = figure.of(run);
  if (!value) return std::nullopt;
  const Bounds bounds = found->bounds(run);
  if (!bounds) return std::nullopt;
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
  if (std::ranges::find(bounded_figures, field, &BoundedFigure::field) == bounded_figures.end())
    return std::nullopt;  // also of a figure of another table
  return expected_bounds_of(run, figures()[index_of(field)]);
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
