#pragma once
// The plans of the algorithms: how an operation runs over a group of ranks. Rings are in ring.hpp, grids in
// torus2d.hpp and switches that add in nvls.hpp, since other files use their parts; planner.hpp chooses among
// all. Each function throws InputError for an operation or a group that its algorithm does not support, and
// Unreachable if some ranks cannot reach each other.

#include "collectives/plan.hpp"
#include "platform/channels.hpp"

#include <span>

namespace trainyard {

/// Chains in chunks for all_reduce, broadcast and reduce. An all_reduce sums along the order of its ranks and
/// returns the result the same way, chunk by chunk, so that every edge is always busy; broadcast and reduce
/// take one of the two ways. NCCL calls this its tree within a node; it is the only way if NVLinks form no
/// ring. The plan uses the group's channels in the link graph; each carries its share of the bytes. If
/// NVLinks form no ring, it uses their one chain, at one lane per direction even if the links have more (five
/// V100 of a cube mesh reach the rate of one lane, though two chains would fit), in both directions from a
/// root in the middle; otherwise each ring, from or to the root.
CollectivePlan chain(const Cluster& cluster, const ProtocolOverheads& overheads,
                     const CollectiveRequest& request);

/// As above, with the group's channels, if the caller already knows them.
CollectivePlan chain(const Cluster& cluster, const ProtocolOverheads& overheads,
                     const CollectiveRequest& request, std::span<const Channel> channels);

/// NCCL's tree for all_reduce, broadcast and reduce: between nodes a double binary tree (rank_tree.hpp), in a
/// node a chain from the GPU next to the NIC through the others; on one node it is chain(). All-reduce goes
/// up and down in one chunked phase. Each of the group's channels gives the NIC and the order inside nodes,
/// and halves its share of the bytes between the two trees. Broadcast and reduce may have any root: it is the
/// root of both trees.
CollectivePlan tree(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request);

/// Two levels: reduce-scatter over the rings of all nodes at once, then one all-reduce per local rank over a
/// ring between the nodes, each through the NIC nearest to its GPU and with 1/k of the data (k ranks per
/// node), then all-gather in the nodes. All NICs of a node work, and each byte crosses the network as rarely
/// as possible. reduce_scatter and all_gather have two of these phases. Needs two or more nodes with equally
/// many ranks, on any GPUs; every node uses as many rings as the node with the fewest, so the NVLinks of a
/// node must form a ring.
CollectivePlan hierarchical(const Cluster& cluster, const ProtocolOverheads& overheads,
                            const CollectiveRequest& request);

/// As above, with double binary trees between the nodes; all_reduce only.
CollectivePlan hierarchical_tree(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 const CollectiveRequest& request);

/// Recursive halving and doubling (Rabenseifner): ranks exchange halves of their data with partners 1, 2, 4
/// ... apart until each has the sum of one part, then the sums return the same way. Few, large messages. An
/// all_reduce halves with the nearest partner first, where most bytes flow; reduce_scatter with the farthest,
/// so that the parts end up in rank order, and all_gather with the nearest. An all_reduce whose number of
/// ranks is not a power of two first folds: with r ranks beyond a power of two, each even one of the first 2r
/// ranks hands its buffer to the next and gets the result at the end. A reduce halves in the same way, and
/// its root gathers the parts. reduce_scatter and all_gather need a power of two. Source: Thakur,
/// Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH", sections 4.2
/// to 4.5.
CollectivePlan halving_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                const CollectiveRequest& request);

/// Recursive doubling: ranks exchange all their data with partners 1, 2, 4 ... apart. The fewest messages,
/// for small sizes. An all_reduce exchanges whole buffers, with the fold of halving_doubling(); an all_gather
/// exchanges the parts gathered so far and needs a power of two. Source: Thakur, Rabenseifner and Gropp 2005,
/// sections 4.1 and 4.5.
CollectivePlan recursive_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                  const CollectiveRequest& request);

/// Binomial tree for broadcast and reduce: in ceil(log2 n) rounds ranks 1, 2, 4 ... places from the root send
/// whole buffers. Source: Thakur, Rabenseifner and Gropp 2005, sections 4.3 and 4.4.
CollectivePlan binomial(const Cluster& cluster, const ProtocolOverheads& overheads,
                        const CollectiveRequest& request);

/// A broadcast of n parts (van de Geijn): the root scatters them along a binomial tree, where a message has
/// as many parts as its subtree (counted as if that were full), and a ring of n - 1 rounds gathers them on
/// all ranks. Source: the same, section 4.3.
CollectivePlan scatter_allgather(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 const CollectiveRequest& request);

/// Direct: every rank sends to every other at once, without intermediate ranks. all_to_all always works like
/// this; for the other operations it has the fewest steps possible, at the price of many messages at the same
/// ports. all_to_all, reduce_scatter and all_gather send 1/n of the size between all pairs in one round,
/// all_reduce does so twice, to scatter and to gather; broadcast sends everything from the root to all,
/// reduce from all to the root, gather and scatter 1/n of it, as NCCL's grouped sends and receives do
/// (NVIDIA/nccl-tests src/gather.cu, scatter.cu), send_recv from each rank to the next, or from the first of
/// two to the second. Every message costs the latency of the slowest. Above 256 ranks, patterns of all pairs
/// hold link uses instead of edges (all_pairs.hpp).
CollectivePlan direct(const Cluster& cluster, const ProtocolOverheads& overheads,
                      const CollectiveRequest& request);

}  // namespace trainyard
