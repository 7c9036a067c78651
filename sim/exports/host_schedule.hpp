#pragma once
// When the host of a simulated rank launches its kernels. The simulation has no such dates: these are the
// latest at which a host that needs the same short time for each call is never late.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace trainyard {

/// A call that no kernel waits for.
inline constexpr std::int64_t any_time = std::numeric_limits<std::int64_t>::max();

/// Times in ns, relative to the beginning of a step on the GPU.
struct HostSchedule {
  std::int64_t cost = 0;             ///< of each call
  std::int64_t lead = 0;             ///< by which the host begins its step before the GPU
  std::vector<std::int64_t> starts;  ///< of each call
};

/// One after the other, in the order given; `latest`: when each has to have ended. The host's step is as long
/// as the GPU's, and contains all calls. Empty if the step is so short that a call would have less than 16
/// ns.
std::optional<HostSchedule> host_schedule(std::span<const std::int64_t> latest, std::int64_t step);

}  // namespace trainyard
