#pragma once
// Intervals that hold 80 % of single runs, from a few errors of published points: for convergence.hpp and
// fixed_epochs.hpp.

#include <cstddef>
#include <vector>

namespace trainyard {

/// Half the width of an interval with 80 % of a normal distribution, in standard deviations.
inline constexpr double normal_of_80_percent = 1.2815515655446004;

/// Student's t for the same share. Requires at least one degree of freedom.
double students_t_of_80_percent(std::size_t degrees);

double root_mean_square(const std::vector<double>& values);

}  // namespace trainyard
