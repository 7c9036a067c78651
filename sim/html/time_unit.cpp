#include "html/time_unit.hpp"

#include <array>

namespace trainyard {

TimeUnit time_unit(Seconds longest) {
  constexpr std::array units{TimeUnit{"days", 86400}, TimeUnit{"hours", 3600}, TimeUnit{"minutes", 60},
                             TimeUnit{"s", 1},        TimeUnit{"ms", 1e-3},    TimeUnit{"us", 1e-6}};
  for (const TimeUnit& unit : units) {
    if (longest.si() >= 2 * unit.seconds) return unit;
  }
  return units.back();
}

}  // namespace trainyard
