#pragma once
// Ring all-reduce over any number of channels: reduce-scatter then all-gather, 2(n-1) rounds in which every
// rank sends 1/n of its channel's share to its neighbour.

#include "collectives/collective.hpp"
#include "collectives/nccl.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"

#include <span>

namespace trainyard {

/// One edge per rank and channel, to the next rank of the channel's order.
Pattern ring_pattern(const Cluster& cluster, std::span<const Channel> channels);

/// What a step over one edge costs besides its bytes: NCCL's figure for its slowest medium; a network edge
/// adds the wire's latency (NCCL's own rule), an edge inside a node costs at least it.
Seconds edge_latency(const Route& route, const RingCosts& costs);

/// What one step of the ring costs besides its bytes: the mean over the ring's edges, because a chunk travels
/// round the ring (nearly twice), so each edge's latency counts 2(n-1)/n times in 2(n-1) steps.
Seconds ring_step_latency(const Cluster& cluster, std::span<const Channel> channels, const RingCosts& costs);

/// All-reduce of `size` bytes per rank. `pattern` is the index its ring_pattern will have.
Collective ring_all_reduce(Bytes size, int ranks, int channels, int pattern, Seconds overhead,
                           Seconds step_latency);

/// The textbook formula for one ring over links of one bandwidth:
/// 2(n-1)/n * size/bandwidth + 2(n-1) * latency. Source: Patarasuk and Yuan 2009, section 3; Thakur et al.
/// 2005.
Seconds ring_all_reduce_time(int ranks, Bytes size, Bandwidth bandwidth, Seconds latency);

/// Bus bandwidth of an all-reduce: algbw * 2(n-1)/n, comparable with a link's peak whatever n is.
/// `size` is one rank's buffer, not the bytes on the wire. Returns 0 for one rank.
/// Source: nccl-tests doc/PERFORMANCE.md, "AllReduce".
Bandwidth all_reduce_busbw(int ranks, Bytes size, Seconds time);

}  // namespace trainyard
