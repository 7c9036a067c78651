#pragma once
// Chain all-reduce, for GPUs whose NVLinks hold no ring: reduce along the chain to its last rank, broadcast
// back along the same way, in as many pieces as there are hops, so that every edge is always busy.

#include "collectives/collective.hpp"
#include "collectives/nccl.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"

namespace trainyard {

/// One edge per hop: along the chain's order, then back. Each has one lane in each direction, whatever more
/// its links have (five V100 of a cube mesh reach the rate of one lane, though two chains would fit).
Pattern chain_pattern(const Cluster& cluster, const Channel& chain);

/// What one step costs besides its bytes: the mean over the chain's edges, because each piece crosses each
/// once.
Seconds chain_step_latency(const Cluster& cluster, const Channel& chain, const RingCosts& costs);

/// All-reduce of `size` bytes per rank. `pattern` is the index its chain_pattern will have.
Collective chain_all_reduce(Bytes size, int ranks, int pattern, Seconds overhead, Seconds step_latency);

/// The formula for a chain over lanes of one bandwidth: size/bandwidth + 2(n-1) * latency, since each byte
/// crosses each lane once in each direction and the last rank is n-1 hops away. Source: NVIDIA/nccl
/// src/graph/tuning.cc, its tree within a node (algbw is half of the bandwidth of both directions).
Seconds chain_all_reduce_time(int ranks, Bytes size, Bandwidth bandwidth, Seconds latency);

}  // namespace trainyard
