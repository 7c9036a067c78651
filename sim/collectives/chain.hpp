#pragma once
// Pipelined chains: an all_reduce adds up along the order of its ranks and comes back the same way, chunk by
// chunk, so that every edge is always busy; broadcast and reduce take one of the two ways. What NCCL calls
// its tree within a node, and the only way where NVLinks hold no ring.

#include "collectives/plan.hpp"
#include "platform/channels.hpp"

#include <span>

namespace trainyard {

/// The plan over the channels that the link graph has for the group, each for its share of the bytes. Where
/// NVLinks hold no ring, over the one chain they have, at one lane in each direction whatever more its links
/// have (five V100 of a cube mesh reach the rate of one lane, though two chains would fit), both ways from a
/// root in its middle; else round each ring, from or to the root. Operations: all_reduce, broadcast, reduce.
/// Throws InputError for others, Unreachable if some ranks cannot reach each other.
CollectivePlan chain(const Cluster& cluster, const Costs& costs, const CollectiveRequest& request);

/// The same over the channels of the group: for those who know them already.
CollectivePlan chain(const Cluster& cluster, const Costs& costs, const CollectiveRequest& request,
                     std::span<const Channel> channels);

/// The formula for a chain of ranks with one full-duplex port of one bandwidth, the root at its end, in c
/// chunks (pipeline_chunks): broadcast and reduce (n-1) * latency + (c+n-2)/c * size/bandwidth; all_reduce
/// 2(n-1) * latency + (c+2n-3)/c * p * size/bandwidth, where p = 1 for two ranks and else 2, since ranks
/// inside the chain share their port between both directions. Source: NVIDIA/nccl src/graph/tuning.cc, its
/// tree within a node (algbw is half of the bandwidth of both directions).
Seconds chain_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency);

}  // namespace trainyard
