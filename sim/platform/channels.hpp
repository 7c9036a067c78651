#pragma once
// Ring channels from the link graph, as NCCL finds them: edge-disjoint Hamiltonian rings over one lane each inside
// a node; between nodes every ring enters and leaves each node through one NIC. Nothing here knows a bus
// bandwidth: that follows from the channels and the links.

#include <vector>

#include "platform/cluster.hpp"

namespace trainyard {

/// One directed ring over all ranks; consecutive ranks on different nodes talk through `nic`.
struct Channel {
  std::vector<Rank> order;
  int nic = -1;  ///< -1 when the ring stays inside one node
};

/// The channels a ring collective over all ranks of the cluster uses; empty for one rank. A node graph without a
/// ring (five GPUs of a cube mesh) gets a chain: one channel there and back. Throws InputError if some ranks
/// cannot reach each other.
std::vector<Channel> ring_channels(const Cluster& cluster);

}  // namespace trainyard
