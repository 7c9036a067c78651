#pragma once
// The calls of a rank's host in one step, in their order: operators with what they launch, gradients that
// become ready, collectives behind the op that completes their data.

#include "exports/rank_step.hpp"

#include <cstdint>
#include <vector>

namespace trainyard {

enum class CallKind { op, gradient, communication, wait };

struct HostCall {
  CallKind kind{};
  const TimelineEvent* bar = nullptr;  ///< of what it launches; of a gradient, of the op that completes it
  const Gradient* gradient = nullptr;
  int op = -1;               ///< index in the trace; of communication -1
  bool is_backward = false;  ///< on the thread of the backward pass
  /// Ops of backward on the same layer, of which no earlier one completes gradients, are in one range.
  bool begins_range = false, ends_range = false;
  std::int64_t latest = 0;  ///< ns: when what it launches begins
};

std::vector<HostCall> host_calls(const ExportedStep& step);

}  // namespace trainyard
