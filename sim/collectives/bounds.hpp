#pragma once
// What no collective can beat on a given machine, from specified bandwidths and wire latencies alone: the
// check that fails a run whose numbers are better than physics.

#include "platform/cluster.hpp"
#include "units/quantity.hpp"

namespace trainyard {

/// A lower bound on an all-reduce of `size` bytes per rank: each rank, and each node taken as one, must send
/// and receive 2(n-1)/n of the data (Patarasuk and Yuan 2009, section 3), and the data of every rank must
/// reach every other, which takes ceil(log2 n) hops. Zero for one rank.
Seconds all_reduce_bound(const Cluster& cluster, Bytes size);

}  // namespace trainyard
