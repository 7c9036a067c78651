#pragma once
// Recursive doubling: ranks exchange all their data with partners 1, 2, 4 ... apart. The fewest messages, for
// small sizes.

#include "collectives/plan.hpp"

namespace trainyard {

/// The plan: an all_reduce exchanges whole buffers, with the fold of halving_doubling.hpp if the number of
/// ranks is not a power of two; an all_gather exchanges the parts gathered so far. Throws InputError for
/// other operations, and for all_gather unless the number of ranks is a power of two; Unreachable if some
/// ranks cannot reach each other. Source: Thakur, Rabenseifner and Gropp 2005, sections 4.1 and 4.5.
CollectivePlan recursive_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                  const CollectiveRequest& request);

/// The formula for ranks with one full-duplex port of one bandwidth, p the power of two at or below n:
/// all_reduce log2(p) * (latency + size/bandwidth), plus 2 * (latency + size/bandwidth) if p is not n;
/// all_gather log2(n) * latency + (n-1)/n * size/bandwidth.
Seconds recursive_doubling_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth,
                                Seconds latency);

}  // namespace trainyard
