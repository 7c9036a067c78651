#pragma once
// Ring channels from the link graph, as NCCL finds them: edge-disjoint Hamiltonian rings over one lane each
// inside a node; between nodes every ring enters and leaves each node through one NIC. Nothing here knows a
// bus bandwidth: that follows from the channels and the links.

#include "platform/cluster.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// One directed ring over all ranks; consecutive ranks on different nodes talk through `nic`.
struct Channel {
  std::vector<Rank> order;
  int nic = -1;           ///< -1 when the ring stays inside one node
  bool is_chain = false;  ///< no ring closes: data runs along the order to its last rank and back again
};

/// The channels a ring collective over all ranks of the cluster uses; empty for one rank. One node: as many
/// rings as its NVLinks hold at one lane each; where they hold none (five GPUs of a cube mesh), one chain;
/// where the NVLinks do not join all the ranks, one ring in PCIe order over whatever links there are. Several
/// nodes: one ring for each NIC that is nearest to some rank on every node; on each node it enters at the GPU
/// nearest to the NIC, leaves at the next nearest and visits the others over NVLink. Says in `notes` if the
/// search for rings stopped before it had proved that no more fit. Throws Unreachable if some ranks cannot
/// reach each other.
std::vector<Channel> ring_channels(const Cluster& cluster, std::vector<std::string>* notes = nullptr);

}  // namespace trainyard
