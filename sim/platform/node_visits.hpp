#pragma once
// How rings over several nodes pass through one of them: the NICs, the GPU of entry, the GPUs visited and the
// GPU of exit. Used by channels.hpp for each set of GPUs in use on some node.

#include "platform/cluster.hpp"
#include "platform/ring_search.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// The NICs nearest to some of the GPUs, including those equally near: NCCL would open these. GPUs are given
/// by their numbers in the node.
std::vector<int> nics_near(const Cluster& cluster, std::span<const int> gpus);

/// The NICs that are `NodeRoutes::nearest_nic` of some of the GPUs, in order.
std::vector<int> nearest_nics(const Cluster& cluster, std::span<const int> gpus);

/// The GPUs in the order in which a ring visits them, one order per entry of `nics`: it enters at the GPU
/// nearest to the NIC and leaves at the next nearest, over NVLinks if these join all of them, sharing as few
/// lanes as possible (least_loaded_paths()). Among equally near GPUs, those where fewer rings enter come
/// first, as in NCCL (NVIDIA/nccl issue 820); without NVLinks, the GPU where the path through the PCIe tree
/// ends.
std::vector<GpuOrder> node_visits(const Cluster& cluster, std::span<const int> gpus,
                                  const std::vector<int>& nics);

/// The orders of RCCL's rings through the GPUs of a node, if they are an even number, xGMI joins each to each
/// by as many lanes, and each shares PCIe switches with a nearest NIC that no other has; empty otherwise. As
/// many rings as GPUs: each enters at another GPU and NIC, leaves at yet another, and has one of the directed
/// links between each two GPUs to itself. RCCL's tables do the same with other orders (ROCm/rccl
/// src/graph/rome_models.cc 0cbce2a7, rome_model_81 and 84); these zigzag: i, i + 1, i - 1, i + 2 ...
std::vector<GpuOrder> rccl_visits(const Cluster& cluster, std::span<const int> gpus);

/// All GPUs of the list `left` after `order`, each nearest to the one before: neighbours on the PCIe tree
/// stay together, and so do GPUs that share NVLinks.
GpuOrder continued_nearest_first(const Cluster& cluster, GpuOrder order, std::vector<int> left);

/// The NVLinks among GPUs of a node, given by their numbers (as in Platform::gpus), for the search for rings
/// and paths: position i of the result is gpus[i].
LaneGraph gpu_lanes(const Platform& platform, std::span<const int> gpus);

}  // namespace trainyard
