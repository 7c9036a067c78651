#pragma once
// Values of a GPU in a recording besides its kernels: for people, as no profile contains them yet.

#include "compute/recording.hpp"

#include <string>

namespace trainyard {

/// Launches, copies at the largest size, collectives, the slowdown of kernels by concurrent copies, and
/// power, one line each. Empty if the recording has none of these.
std::string device_table(const Recording& recording);

}  // namespace trainyard
