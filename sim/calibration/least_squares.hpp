#pragma once
// Smooth fits of many constants at once, where the search without derivatives in minimise.hpp would need too
// many steps: damped Gauss-Newton (Levenberg 1944, Marquardt 1963) with differences for derivatives. The
// result does not depend on the path of the search, so that rounding it gives the same digits everywhere.

#include <functional>
#include <vector>

namespace trainyard {

/// The residuals at a point: always the same number, smooth in it.
using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;

/// The point near `start` with the least sum of squared residuals. No coordinate falls below `least`.
/// Deterministic. Coordinates should be of the order of 1.
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start, double least);

/// Grows like `residual` up to about `scale` and like its square root above: a few outliers do not decide a
/// fit.
double softened(double residual, double scale);

}  // namespace trainyard
