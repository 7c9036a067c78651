#pragma once
// What a recording says of a GPU besides its kernels: for people, as no profile holds it yet.

#include "compute/recording.hpp"

#include <string>

namespace trainyard {

/// Launches, copies at the largest size, collectives, how much slower kernels are beside copies, and power, a
/// line each. Empty if the recording has none of these.
std::string device_table(const Recording& recording);

}  // namespace trainyard
