#pragma once
// A group of ranks on a cluster in the terms of NCCL's tuning model (nccl_tuning.hpp): numbers of ranks,
// nodes and channels, and the link speeds that NCCL assumes.

#include "collectives/nccl_tuning.hpp"
#include "platform/channels.hpp"

#include <span>

namespace trainyard {

/// `version`: not none. `compute_capability`: of the GPUs, 75 for CUDA's 7.5. `channels`: ring_channels() of
/// the group. The CPU vendor is that of the node's CPU.
NcclShape nccl_shape(const Cluster& cluster, NcclVersion version, int compute_capability, Operation operation,
                     std::span<const Rank> group, std::span<const Channel> channels);

}  // namespace trainyard
