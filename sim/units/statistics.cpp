#include "units/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

namespace trainyard {

double mean(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("a mean of no values");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double geometric_mean(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return std::exp(mean(logs));
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) throw std::invalid_argument("a quantile of no values");
  if (part < 0 || part > 1 || std::isnan(part)) throw std::invalid_argument("a quantile outside 0 to 1");
  std::ranges::sort(values);
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double students_t(double degrees, double probability) {
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

NextValue next_value(const std::vector<double>& values, double probability, double more_variance) {
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  const auto count = static_cast<double>(values.size());
  const double variance = squares / (count - 1) * (1 + 1 / count) + more_variance;
  const double half = students_t(count - 1, (1 + probability) / 2) * std::sqrt(variance);
  return {.low = centre - half, .high = centre + half};
}

}  // namespace trainyard
