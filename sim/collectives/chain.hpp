#pragma once
// Pipelined chains: an all_reduce sums along the order of its ranks and returns the result the same way,
// chunk by chunk, so that every edge is always busy; broadcast and reduce take one of the two ways. NCCL
// calls this its tree within a node; it is the only way if NVLinks form no ring.

#include "collectives/plan.hpp"
#include "platform/channels.hpp"

#include <span>

namespace trainyard {

/// The plan over the group's channels in the link graph; each carries its share of the bytes. If NVLinks form
/// no ring, it uses their one chain, at one lane per direction even if the links have more (five V100 of a
/// cube mesh reach the rate of one lane, though two chains would fit), in both directions from a root in the
/// middle; otherwise each ring, from or to the root. Operations: all_reduce, broadcast, reduce. Throws
/// InputError for others, Unreachable if some ranks cannot reach each other.
CollectivePlan chain(const Cluster& cluster, const ProtocolOverheads& overheads,
                     const CollectiveRequest& request);

/// The same with the group's channels, if the caller already knows them.
CollectivePlan chain(const Cluster& cluster, const ProtocolOverheads& overheads,
                     const CollectiveRequest& request, std::span<const Channel> channels);

/// The formula for a chain of ranks with one full-duplex port of one bandwidth, the root at its end, in c
/// chunks (chunk_count): broadcast and reduce (n-1) * latency + (c+n-2)/c * size/bandwidth; all_reduce
/// 2(n-1) * latency + (c+2n-3)/c * p * size/bandwidth, where p = 1 for two ranks and else 2, since ranks
/// inside the chain share their port between both directions. Source: NVIDIA/nccl src/graph/tuning.cc, its
/// tree within a node (algbw is half of the bandwidth of both directions).
Seconds chain_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency);

}  // namespace trainyard
