#pragma once
// The load of a planned step's collectives on each rank's GPU: it slows concurrent kernels down
// (engine/running_kernel.hpp).

#include "schedule/step_plan.hpp"

#include <vector>

namespace trainyard {

/// Bytes read and written in a rank's memory for a collective, averaged over the ranks: each received byte is
/// written into a buffer by its sender and read from there, a rank's input is read once and its result
/// written once. For a ring all-reduce that is 6 size - 4 size / n, 3 to 4 for each byte sent. Source: NCCL's
/// primitives, which add, keep and pass on the bytes they read in one operation (NVIDIA/nccl
/// src/device/prims_simple.h and all_reduce.h: send, recvReduceSend, recvReduceCopySend, recvCopySend, recv).
Bytes memory_traffic(const Collective& collective, std::span<const Pattern> patterns);

/// Indexed by collective of the plan's graph. Every ring uses two thread blocks, a channel of NVLS one; each
/// occupies a multiprocessor (NVIDIA/nccl issue 689); the memory traffic is spread evenly over the time that
/// the collective takes alone on the network. No multiprocessors if the profile does not give their number.
/// MPI and Gloo have one thread, which holds a core of a processor.
std::vector<GpuUse> collective_uses(const StepPlan& plan, const GpuProfile& gpu,
                                    const CollectiveSoftware& library);

}  // namespace trainyard
