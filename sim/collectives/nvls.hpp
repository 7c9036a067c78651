#pragma once
// All-reduce by NVSwitches that add, which NCCL calls NVLS and NVIDIA SHARP: some ranks, the heads, each read
// the sum of their part of all buffers from the switch and write it through the switch into all of them at
// once. A GPU sends little more than its buffer once, not nearly twice as in a ring.
//
// Sources: NVIDIA/nccl v2.30.7-1, src/graph/search.cc (heads), src/transport/nvls.cc (channels),
// src/enqueue.cc (sizes of chunks), src/device/all_reduce.h.

#include "collectives/plan.hpp"
#include "platform/cluster.hpp"

#include <optional>
#include <span>
#include <vector>

namespace trainyard {

/// The links of a rank to and from the switch.
struct SwitchPort {
  LinkId out{};
  LinkId in{};
};

/// The NVSwitch of a group that adds the data of its ranks.
struct AddingSwitch {
  PathType links = best_path;     ///< the oldest NVLinks to it
  int lanes = 0;                  ///< the fewest of a rank
  Seconds latency;                ///< through it, the longest
  std::vector<SwitchPort> ports;  ///< by rank
};

/// NVSwitches add since the third generation, that of NVLink 4. Empty if the ranks, at least 2, are on
/// several nodes or not all behind one such switch.
std::optional<AddingSwitch> adding_switch(const Cluster& cluster, std::span<const Rank> group);

/// All-reduce through the NVSwitch of the group's node. h of n ranks are heads: in a round each link to the
/// switch carries a chunk for every head and each head's link one more, the sum, and the links from the
/// switch as many. Two rounds more pass before the first sum is written: while the first chunk is copied into
/// the buffer that the switch reads, and from it. Only protocol Simple.
CollectivePlan nvls(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request);

}  // namespace trainyard
