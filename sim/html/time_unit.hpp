#pragma once
// One unit for all numbers on an axis of times.

#include "units/quantity.hpp"

#include <string_view>

namespace trainyard {

struct TimeUnit {
  std::string_view name;  ///< "hours"
  double seconds = 1;
};

/// The largest in which `longest` is at least 2, or the smallest.
TimeUnit time_unit(Seconds longest);

}  // namespace trainyard
