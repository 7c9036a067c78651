#pragma once
// Recursive halving and doubling (Rabenseifner): ranks exchange halves of their data with partners 1, 2, 4
// ... apart until each has the sum of one part, then the sums return the same way. Few, large messages.

#include "collectives/plan.hpp"

namespace trainyard {

/// The plan: an all_reduce halves with the nearest partner first, where most bytes flow; reduce_scatter with
/// the farthest, so that the parts end up in rank order, and all_gather with the nearest. An all_reduce whose
/// number of ranks is not a power of two first folds: with r ranks beyond a power of two, each even one of
/// the first 2r ranks hands its buffer to the next and gets the result at the end. Throws InputError for
/// other operations, and for reduce_scatter and all_gather unless the number of ranks is a power of two;
/// Unreachable if some ranks cannot reach each other. Source: Thakur, Rabenseifner and Gropp 2005,
/// "Optimization of collective communication operations in MPICH", sections 4.2 to 4.5.
CollectivePlan halving_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                const CollectiveRequest& request);

/// The formula for ranks with one full-duplex port of one bandwidth, p the power of two at or below n:
/// all_reduce 2 log2(p) * latency + 2(p-1)/p * size/bandwidth, reduce_scatter and all_gather half of it; plus
/// 2 * (latency + size/bandwidth) if p is not n.
Seconds halving_doubling_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth,
                              Seconds latency);

}  // namespace trainyard
