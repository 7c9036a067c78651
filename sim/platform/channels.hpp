#pragma once
// Ring channels from the link graph, as NCCL finds them: edge-disjoint Hamiltonian rings over one lane each
// inside a node; between nodes every ring enters and leaves each node through one NIC. Nothing here knows a
// bus bandwidth: that follows from the channels and the links.

#include "platform/cluster.hpp"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// One directed ring over the ranks of a group; consecutive ranks on different nodes talk through `nic`.
struct Channel {
  std::vector<Rank> order;
  int nic = -1;           ///< -1: the ring stays inside one node, or each GPU takes the NIC nearest to it
  bool is_chain = false;  ///< no ring closes: data runs along the order to its last rank and back again
  /// What its connections reach at most, whatever the links could carry. Between nodes a ring stands for as
  /// many connections as the ranks of a node, divided among its rings, have (NCCL opens them at different
  /// GPUs in turn); inside a node it is one connection.
  Bandwidth limit{std::numeric_limits<double>::infinity()};
};

/// The channels that a ring collective over a group uses: any ascending list of different ranks. None for one
/// rank. On one node: as many rings as its NVLinks hold at one lane each; where they hold none (five GPUs of
/// a cube mesh), one chain; where the NVLinks do not join all the ranks, one ring in PCIe order over whatever
/// links there are. On several nodes: one ring for each NIC that is nearest to some rank on every node; on
/// each node it enters at the GPU nearest to the NIC, leaves at the next nearest and visits the others over
/// NVLink. Where the nodes of the group have no near NIC in common, as many rings as the node with the fewest
/// near NICs has, and every GPU at a border takes the NIC nearest to it. Says in `notes` if the search for
/// rings stopped before it had proved that no more fit. Searches once per set of GPUs that the group has on
/// some node. Throws Unreachable if some ranks cannot reach each other.
std::vector<Channel> ring_channels(const Cluster& cluster, std::span<const Rank> group,
                                   std::vector<std::string>* notes = nullptr);

/// Over all ranks of the cluster.
std::vector<Channel> ring_channels(const Cluster& cluster, std::vector<std::string>* notes = nullptr);

/// All ranks of the cluster, as a group.
std::vector<Rank> all_ranks(const Cluster& cluster);

/// What NCCL's choice of algorithm and protocol depends on besides the sizes of group and message.
struct ChannelFacts {
  int channels = 0;
  std::optional<PathType> inside;  ///< the worst between neighbours on one node; none where there are none
  std::optional<PathType> to_nic;  ///< the worst between a NIC and the GPUs beside it; none on one node

  /// Neighbours on one node have NVLinks between them, everywhere.
  [[nodiscard]] bool has_nvlinks_alone() const { return !inside || is_nvlink(*inside); }
};

ChannelFacts channel_facts(const Cluster& cluster, std::span<const Channel> channels);

}  // namespace trainyard
