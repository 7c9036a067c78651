#pragma once
// The calls of a rank's host in one step, in order: operators with the kernels that they launch, gradients
// that become ready, collectives after the op that completes their data.

#include "exports/rank_step.hpp"

#include <cstdint>
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

}  // namespace trainyard
