#pragma once
// One unit for all numbers on a time axis.

#include "units/quantity.hpp"

#include <string_view>

namespace trainyard {

struct TimeUnit {
  std::string_view name;  ///< "hours"
  double seconds = 1;
};

/// The largest unit in which `longest` is at least 2, or the smallest unit.
TimeUnit time_unit(Seconds longest);

}  // namespace trainyard
