#pragma once
// The calls of a rank's host in one step, in order: operators with the kernels that they launch, gradients
// that become ready, collectives after the op that completes their data. The simulation has no dates of
// launches: those here are the latest at which a host that needs the same short time for each call is never
// late.

#include "exports/rank_step.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace trainyard {

enum class CallKind { op, gradient, communication, wait };

struct HostCall {
  CallKind kind{};
  const TimelineEvent* bar =
      nullptr;  ///< bar of the launched kernel; for a gradient, of the op that completes it
  const Gradient* gradient = nullptr;
  int op = -1;               ///< index in the trace; of communication -1
  bool is_backward = false;  ///< on the thread of the backward pass
  /// Ops of backward on the same layer, of which no earlier one completes gradients, are in one range.
  bool begins_range = false, ends_range = false;
  std::int64_t latest = 0;  ///< ns: start of the launched kernel
};

std::vector<HostCall> host_calls(const ExportedStep& step);

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
