#pragma once
// A group of ranks on a cluster as NCCL's tuning model sees it (nccl_tuning.hpp): numbers of ranks, nodes and
// channels, and the speeds that NCCL believes its links to have.

#include "collectives/nccl_tuning.hpp"
#include "platform/channels.hpp"

#include <span>

namespace trainyard {

/// `version`: not none. `channels`: ring_channels() of the group. The generation of the GPUs is taken from
/// their NVLinks (Volta's where they have none), the vendor from the node's CPU.
NcclShape nccl_shape(const Cluster& cluster, NcclVersion version, Operation operation,
                     std::span<const Rank> group, std::span<const Channel> channels);

}  // namespace trainyard
