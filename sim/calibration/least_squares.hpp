#pragma once
// Smooth fits of many constants at once, where minimise.hpp's search without derivatives would need too many
// steps: damped Gauss-Newton (Levenberg 1944, Marquardt 1963) with differences for derivatives. Its answer
// does not hang on the way it took, so that rounding it gives the same digits everywhere.

#include <functional>
#include <vector>

namespace trainyard {

/// The residuals at a point: always as many, smooth in it.
using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;

/// The point near `start` with the least sum of squared residuals. No coordinate falls below `least`.
/// Deterministic. Coordinates should be of the order of 1.
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start, double least);

/// Grows like `residual` up to about `scale` and like its square root beyond: a few points that nothing
/// explains do not decide a fit.
double softened(double residual, double scale);

}  // namespace trainyard
