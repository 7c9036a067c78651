#include "workload/interval_of_80_percent.hpp"

#include <array>
#include <cmath>

namespace trainyard {

double students_t_of_80_percent(std::size_t degrees) {
  constexpr std::array table{3.0777, 1.8856, 1.6377, 1.5332, 1.4759, 1.4398, 1.4149, 1.3968, 1.3830, 1.3722};
  if (degrees <= table.size()) return table[degrees - 1];
  const double z = normal_of_80_percent;
  return z + (z * z * z + z) / (4 * static_cast<double>(degrees));
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace trainyard
