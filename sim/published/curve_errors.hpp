#pragma once
// Averages the errors of curves: rows of a curve that are within half an octave of each other count as one,
// so that a curve has the same weight whether its sizes are dense or sparse, on a linear grid or not.

#include "units/quantity.hpp"

#include <optional>
#include <span>
#include <vector>

namespace trainyard {

struct SizedError {
  Bytes size;
  double error = 0;  ///< predicted / measured - 1, for times
};

/// Sizes from here on count as large: bandwidth matters more than latency.
inline constexpr Bytes large_size{1024.0 * 1024};

/// Weight of each error: those within one half of an octave share a weight of 1.
std::vector<double> octave_weights(std::span<const SizedError> errors);

/// Weighted mean of absolute errors; nothing for an empty list.
std::optional<double> mean_error(std::span<const SizedError> errors);

/// The errors of large sizes, or of the others.
std::vector<SizedError> part_of(std::span<const SizedError> errors, bool large);

/// The value below which `share` of the weight of absolute errors lies (0.5: the median); nothing for an
/// empty list.
std::optional<double> weighted_quantile(std::span<const SizedError> errors, std::span<const double> weights,
                                        double share);

}  // namespace trainyard
