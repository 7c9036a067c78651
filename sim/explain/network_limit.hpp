#pragma once
// The limit of a step's communication: the part of the network that would shorten the step most if it were
// twice as fast. `run` and `explain` print the same one.

#include "explain/explanation.hpp"
#include "explain/what_would_help.hpp"
#include "run/run.hpp"

#include <optional>

namespace trainyard {

struct NetworkLimit {
  /// The collective that this limits for the longest time, with its slowest link.
  CollectivePace pace;
  /// The parts of the network that limit it and their keys, at twice the speed; empty if no faster part
  /// shortens the step: latency limits it, or no key makes the part faster.
  std::optional<WhatIf> faster;
  Seconds gain;             ///< by which the step is then shorter, with the same algorithms and routes
  Seconds latency_gain;     ///< the same for half of the latencies and of the time before first messages
  bool is_latency = false;  ///< latency limits the step more than any part
};

/// The limit of a steady step with collectives; empty for others. Replays the step, without SimGrid, once for
/// each part that its collectives use.
std::optional<NetworkLimit> network_limit(const Run& run);

}  // namespace trainyard
