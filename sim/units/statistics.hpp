#pragma once
// What many values come to. The one definition of a quantile for errors of fits and of published runs;
// curves of collectives weigh their sizes and have their own (published/curve_errors.hpp).

#include <vector>

namespace trainyard {

/// The arithmetic mean. Throws std::invalid_argument for no values.
double mean(const std::vector<double>& values);

/// The value that `part` of all lie below (0.5: the median), between the nearest two in proportion: type 7 of
/// Hyndman and Fan, "Sample quantiles in statistical packages", 1996. Throws std::invalid_argument for no
/// values or a part outside 0 to 1.
double quantile(std::vector<double> values, double part);

}  // namespace trainyard
