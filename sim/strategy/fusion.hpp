#pragma once
// Horovod's tensor fusion: which gradients are reduced together, and when. Nothing starts between ticks; each
// tick sends all gradients that became ready since the last one.

#include "strategy/buckets.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// The tick at or after `ready`; ticks are multiples of the cycle time from the start of the step. With a
/// cycle time of 0 it is `ready` itself.
Seconds next_tick(Seconds ready, Seconds cycle_time);

/// Horovod's rule: the gradients that became ready between two ticks are fused in that order; a buffer takes
/// them as long as it stays within the threshold, and a tensor larger than the threshold goes alone.
/// `op_end`: end of each op of the trace. Without overlap, all are ready only after the last gradient.
/// Gradients must be in the order of their ops. Source: Horovod docs/tensor-fusion.rst;
/// horovod/common/controller.cc, FuseResponses.
std::vector<Bucket> fused_buffers(std::span<const ReadyGradient> gradients, std::span<const Seconds> op_end,
                                  const Stack& stack, Bytes value);

}  // namespace trainyard
