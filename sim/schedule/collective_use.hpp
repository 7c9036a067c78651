#pragma once
// What the collectives of a planned step take of each rank's GPU while they run: what computes beside them is
// slower by that (engine/running_kernel.hpp).

#include "schedule/step_plan.hpp"

#include <vector>

namespace trainyard {

/// Bytes that a rank's memory is read and written for a collective, on average over the ranks: each received
/// byte is written into a buffer by its sender and read from there, a rank's input is read once and its
/// result written once. Of a ring all-reduce that is 6 size - 4 size / n, 3 to 4 for each byte sent. Source:
/// NCCL's primitives, which add, keep and pass on in one go what they have read (NVIDIA/nccl
/// src/device/prims_simple.h and all_reduce.h: send, recvReduceSend, recvReduceCopySend, recvCopySend, recv).
Bytes memory_traffic(const Collective& collective, std::span<const Pattern> patterns);

/// By collective of the plan's graph. Every ring is two thread blocks that hold a multiprocessor each
/// (NVIDIA/nccl issue 689); the memory traffic is spread evenly over the time that the collective takes alone
/// on the network. No multiprocessors where the profile does not say how many there are.
std::vector<GpuUse> collective_uses(const StepPlan& plan, const GpuProfile& gpu);

}  // namespace trainyard
