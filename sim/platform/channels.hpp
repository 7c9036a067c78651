#pragma once
// Ring channels from the link graph, found as NCCL does: edge-disjoint Hamiltonian rings over one lane each
// inside a node; between nodes, every ring enters and leaves a node through one NIC. Bus bandwidths are not
// an input: they follow from the channels and the links.

#include "platform/cluster.hpp"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// One directed ring over the ranks of a group; consecutive ranks on different nodes communicate through
/// `nic`.
struct Channel {
  std::vector<Rank> order;
  int nic = -1;  ///< -1 or own_nics: the ring stays inside one node, or each GPU uses the NIC nearest to it
  bool is_chain = false;  ///< no ring exists: data runs along the order to its last rank and back again
  bool turns = false;     ///< every second node is visited backwards, so that a ring keeps its rails
  /// Upper limit of its connections' rate, independent of the links. Between nodes, the ranks of a node have
  /// one connection each, divided among the node's rings (NCCL opens them at different GPUs in turn); inside
  /// a node, a ring is one connection.
  Bandwidth limit{std::numeric_limits<double>::infinity()};
};

/// The channels that a ring collective over a group uses; `group`: any ascending list of different ranks.
/// Empty for one rank. On one node: as many rings as its NVLinks hold at one lane each; one chain if they
/// hold none (five GPUs of a cube mesh); one ring in PCIe order over any links if NVLinks do not join all the
/// ranks. On several nodes: one ring for each NIC that is nearest to some rank on every node; on each node it
/// enters at the GPU nearest to the NIC, leaves at the next nearest, or through the first if a CPU lies
/// between (sender_through()), and visits the others over NVLink. GPUs with NICs of their own that xGMI joins
/// all to all have RCCL's rings, which leave by another NIC than they came (rccl_visits()). If the group's
/// nodes have no near NIC in
/// common, as many rings as the node with the fewest near NICs, and every GPU at a border uses the NIC
/// nearest to it. Adds to `notes` if the search for rings stopped before it had proved that no more fit.
/// Searches once per set of GPUs in use on some node. Throws Unreachable if some ranks cannot reach each
/// other.
std::vector<Channel> ring_channels(const Cluster& cluster, std::span<const Rank> group,
                                   std::vector<std::string>* notes = nullptr);

/// The channels of a group, or of the ranks on its first two nodes if it is all ranks of more nodes that are
/// alike: the order of a channel then goes on from node to node as it begins.
std::vector<Channel> sample_channels(const Cluster& cluster, std::span<const Rank> group,
                                     std::vector<std::string>* notes = nullptr);

/// For all ranks of the cluster.
std::vector<Channel> ring_channels(const Cluster& cluster, std::vector<std::string>* notes = nullptr);

/// All ranks of the cluster, as a group.
std::vector<Rank> all_ranks(const Cluster& cluster);

/// The properties of the channels that affect NCCL's choice of algorithm and protocol.
struct ChannelFacts {
  int channels = 0;
  std::optional<PathType> inside = {};  ///< the worst between neighbours on one node; empty without any
  std::optional<PathType> to_nic = {};  ///< the worst between a NIC and the GPUs using it; empty on one node
  bool has_proxies = false;             ///< some data leaves a node through another GPU: sender_through()

  /// All neighbours on one node have NVLinks between them.
  [[nodiscard]] bool has_nvlinks_alone() const { return !inside || is_nvlink(*inside); }
};

ChannelFacts channel_facts(const Cluster& cluster, std::span<const Channel> channels);

}  // namespace trainyard
