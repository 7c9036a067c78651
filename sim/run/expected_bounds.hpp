#pragma once
// The intervals of a run's figures besides its throughput: memory, power, energy, times, cost and goodput.
// They follow from the expected error of the throughput and from bounds of memory and power
// (error_bounds.hpp).

#include "accuracy/error_bounds.hpp"
#include "run/run.hpp"
#include "units/known.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

/// A figure of summary.json and the values, in its unit, between which 80 % of measurements are expected.
struct FigureBounds {
  std::string_view field;
  double low = 0, high = 0;
};

/// Bounds of every figure that has a value and an interval, in the table's order. Intervals of a training to
/// a target are figures themselves (time_to_target_low_s).
std::vector<FigureBounds> expected_bounds(const Run& run);

/// Bounds of one of these figures; nothing if it has no value or no interval.
std::optional<FigureBounds> expected_bounds(const Run& run, std::string_view field);

/// The bounds of a figure that depend on those of the throughput alone; nothing for other figures, and for
/// those of a whole job that trains to a target.
std::optional<ErrorBounds> bounds_from_speed(std::string_view field, const ErrorBounds& speed,
                                             bool has_target = false);

/// Bounds of the test accuracy at the end of a job: Student's interval of the repeats, with the binomial
/// variance of as many test samples and that of `learn.accuracy_error`. Without the latter, of one more run
/// of the learner with another seed and on other test samples, not of a larger model that the learner stands
/// for. The reason if there are no two repeats that end with an accuracy on test samples.
Known<ErrorBounds> bounds_of_end_accuracy(const Run& run);

/// Bounds of the time to the target, to which the cost is in proportion; bounds of the energy, with the error
/// of the power. The reason if the error of the throughput is unknown. Requires a job with a target.
Known<ErrorBounds> bounds_of_target(const Run& run);
Known<ErrorBounds> energy_bounds_of_target(const Run& run);

}  // namespace trainyard
