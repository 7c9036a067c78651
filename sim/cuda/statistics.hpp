#pragma once
// The two numbers that stand for a measurement's repetitions. Median and interquartile range: a repetition
// that something else on the machine delayed does not move them.

#include <vector>

namespace trainyard::cuda {

/// The value below which the share `fraction` (0 to 1) of the values lies, linear between neighbours (type 7
/// of Hyndman and Fan, "Sample quantiles in statistical packages", 1996). Throws std::invalid_argument if
/// there are none.
double quantile(std::vector<double> values, double fraction);

double median(std::vector<double> values);

/// Third quartile less first.
double interquartile_range(const std::vector<double>& values);

}  // namespace trainyard::cuda
