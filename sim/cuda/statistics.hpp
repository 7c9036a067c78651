#pragma once
// The two numbers that summarize a measurement's repetitions: median and interquartile range, because they
// are insensitive to a repetition delayed by other work on the machine.

#include <vector>

namespace trainyard::cuda {

/// The value below which a fraction `fraction` (0 to 1) of the values lies, linear between neighbours (type 7
/// of Hyndman and Fan, "Sample quantiles in statistical packages", 1996). Throws std::invalid_argument if
/// there are none.
double quantile(std::vector<double> values, double fraction);

double median(std::vector<double> values);

/// Third quartile minus first.
double interquartile_range(const std::vector<double>& values);

}  // namespace trainyard::cuda
