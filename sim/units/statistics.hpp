#pragma once
// Statistics over many values. The one definition of a quantile for errors of fits and of published runs;
// curves of collectives weight their sizes and have a separate one (published/curve_errors.hpp).

#include <vector>

namespace trainyard {

/// The arithmetic mean. Throws std::invalid_argument for no values.
double mean(const std::vector<double>& values);

/// The geometric mean of values above 0. Throws std::invalid_argument for no values.
double geometric_mean(const std::vector<double>& values);

/// The value with `part` of all values below it (0.5: the median), interpolated between the nearest two: type
/// 7 of Hyndman and Fan, "Sample quantiles in statistical packages", 1996. Throws std::invalid_argument for
/// no values or a part outside 0 to 1.
double quantile(std::vector<double> values, double part);

/// Student's t: the value with this probability below it. Requires degrees of freedom above 0, a probability
/// between 0 and 1.
double students_t(double degrees, double probability);

/// The interval of one more value that is distributed as these (Student's, around their mean), which has this
/// variance besides. Requires two values; 0 < probability < 1.
struct NextValue {
  double low = 0, high = 0;
};
NextValue next_value(const std::vector<double>& values, double probability, double more_variance = 0);

}  // namespace trainyard
