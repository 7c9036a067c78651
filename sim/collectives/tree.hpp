#pragma once
// NCCL's tree: between nodes a double binary tree (rank_tree.hpp), each tree for half of the data; in a node
// a chain from the GPU next to the NIC through the others. All-reduce goes up and down in one chunked phase.

#include "collectives/plan.hpp"

namespace trainyard {

/// The plan over the group's channels: each gives the NIC and the order inside nodes, and halves its share of
/// the bytes between two trees. On one node it is the chain (chain.hpp). Broadcast and reduce may have any
/// root: it is the root of both trees. Operations: all_reduce, broadcast, reduce. Throws InputError for
/// others, Unreachable if some ranks cannot reach each other.
CollectivePlan tree(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request);

/// The formula for one rank per node with one full-duplex port, in c chunks (chunk_count of half of the
/// size), h = ceil(log2 n): broadcast and reduce h * latency + (c+h-1)/c * size/bandwidth; all_reduce 2h *
/// latency + (c+2h-1)/c * p/2 * size/bandwidth, where p is the number of edges that share the busiest port: n
/// for up to four ranks, then 4 (three of the tree in which a rank is an inner node, one of the other).
/// Source: Sanders, Speck and Traeff 2009, section 3; p counted on NCCL's trees.
Seconds tree_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency);

}  // namespace trainyard
