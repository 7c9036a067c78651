#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace trainyard::cuda {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) throw std::invalid_argument("a quantile of no values");
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double interquartile_range(const std::vector<double>& values) {
  return quantile(values, 0.75) - quantile(values, 0.25);
}

}  // namespace trainyard::cuda
