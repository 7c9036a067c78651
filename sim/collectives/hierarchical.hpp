#pragma once
// Two levels: reduce-scatter over the rings of all nodes at once, then one all-reduce per local rank between
// the nodes, each through the NIC nearest to its GPU and with 1/k of the data (k ranks per node), then
// all-gather in the nodes. All NICs of a node work, and each byte crosses the network as rarely as possible.

#include "collectives/plan.hpp"

namespace trainyard {

/// The plan with rings between the nodes: all_reduce in three phases, reduce_scatter and all_gather in two.
/// Needs two or more nodes with equally many ranks, on any GPUs; every node uses as many rings as the node
/// with the fewest. Throws InputError for other groups and if the NVLinks of a node form only a chain,
/// Unreachable if some ranks cannot reach each other.
CollectivePlan hierarchical(const Cluster& cluster, const ProtocolOverheads& overheads,
                            const CollectiveRequest& request);

/// The same with double binary trees between the nodes; all_reduce only.
CollectivePlan hierarchical_tree(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 const CollectiveRequest& request);

/// The formula for nodes of k ranks, each with one full-duplex port of one bandwidth: all_reduce
/// 2(k-1) * (latency + size/(k * bandwidth)) + ring_time of size/k over the nodes; reduce_scatter and
/// all_gather half of it. Source: Cho, Finkler, Serrano, Kung and Hunter 2019, "BlueConnect", section 3.
Seconds hierarchical_time(Operation operation, int nodes, int ranks_per_node, Bytes size, Bandwidth bandwidth,
                          Seconds latency);

/// The same with tree_time of size/k between the nodes.
Seconds hierarchical_tree_time(int nodes, int ranks_per_node, Bytes size, Bandwidth bandwidth,
                               Seconds latency);

}  // namespace trainyard
