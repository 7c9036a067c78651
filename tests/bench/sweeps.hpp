#pragma once
// Sweeps of many points, and a sweep that is killed 200 times: `./dev bench` shows the seconds that a user
// waits, and that memory does not grow with the points.

#include <string>

namespace trainyard::bench {

/// Prints the table; true if each sweep is within its limit, the larger one takes no more memory than the
/// smaller, and nothing was lost by killing.
bool sweeps(const std::string& program);

}  // namespace trainyard::bench
