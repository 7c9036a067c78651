#pragma once
// Direct: every rank sends to every other at once, without intermediate ranks. all_to_all always works like
// this; for the other operations it has the fewest steps possible, at the price of many messages at the same
// ports.

#include "collectives/plan.hpp"

namespace trainyard {

/// The plan: all_to_all, reduce_scatter and all_gather send 1/n of the size between all pairs in one round,
/// all_reduce does so twice, to scatter and to gather; broadcast sends everything from the root to all,
/// reduce from all to the root, send_recv from each rank to the next. Every message costs the latency of the
/// slowest. Above 256 ranks, patterns of all pairs hold link uses instead of edges (all_pairs.hpp). Throws
/// Unreachable if some ranks cannot reach each other.
CollectivePlan direct(const Cluster& cluster, const ProtocolOverheads& overheads,
                      const CollectiveRequest& request);

/// The formula for ranks with one full-duplex port of one bandwidth: all_to_all, reduce_scatter and
/// all_gather latency + (n-1)/n * size/bandwidth, all_reduce twice that, send_recv latency + size/bandwidth,
/// broadcast and reduce latency + (n-1) * size/bandwidth, since all messages share the root's port.
Seconds direct_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency);

}  // namespace trainyard
