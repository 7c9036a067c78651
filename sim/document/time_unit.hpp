#pragma once
// Units of the numbers on axes: one for all times of an axis, and kWh for energies.

#include "units/quantity.hpp"

#include <array>
#include <string_view>

namespace trainyard {

inline constexpr double joules_per_kwh = 3.6e6;

struct TimeUnit {
  std::string_view name;  ///< "hours"
  double seconds = 1;
};

/// The largest unit in which `longest` is at least 2, or the smallest unit.
inline TimeUnit time_unit(Seconds longest) {
  constexpr std::array units{TimeUnit{"days", 86400}, TimeUnit{"hours", 3600}, TimeUnit{"minutes", 60},
                             TimeUnit{"s", 1},        TimeUnit{"ms", 1e-3},    TimeUnit{"us", 1e-6}};
  for (const TimeUnit& unit : units) {
    if (longest.si() >= 2 * unit.seconds) return unit;
  }
  return units.back();
}

}  // namespace trainyard
