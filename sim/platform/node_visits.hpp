#pragma once
// How rings that run over several nodes pass through one of them: by which NICs, in at which GPU, over which
// others, out at which. Used by channels.hpp for each set of GPUs that a group has on some node.

#include "platform/cluster.hpp"
#include "platform/ring_search.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// The NICs nearest to some of the GPUs, a NIC as near as the nearest included: those NCCL would open there.
/// GPUs are given by their numbers in the node.
std::vector<int> nics_near(const Cluster& cluster, std::span<const int> gpus);

/// The NICs that are `NodeRoutes::nearest_nic` of some of the GPUs, in order.
std::vector<int> nearest_nics(const Cluster& cluster, std::span<const int> gpus);

/// The GPUs in the order in which a ring visits them, one order per entry of `nics`: in at the GPU nearest to
/// the NIC, out at the next nearest, over NVLinks where these join all of them. Of equally near GPUs those
/// come first at which fewer rings enter, as in NCCL (NVIDIA/nccl issue 820); without NVLinks the one where
/// the way through the PCIe tree ends.
std::vector<GpuOrder> node_visits(const Cluster& cluster, std::span<const int> gpus,
                                  const std::vector<int>& nics);

/// All GPUs of the list `left` after `order`, each the nearest to the one before: neighbours on the PCIe tree
/// stay together, and so do GPUs that share NVLinks.
GpuOrder continued_nearest_first(const Cluster& cluster, GpuOrder order, std::vector<int> left);

}  // namespace trainyard
