#include "workload/interval_of_80_percent.hpp"

#include "units/statistics.hpp"

#include <cmath>

namespace trainyard {

double students_t_of_80_percent(std::size_t degrees) { return students_t(static_cast<double>(degrees), 0.9); }

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace trainyard
