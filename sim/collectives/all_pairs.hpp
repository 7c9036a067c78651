#pragma once
// Every rank of a group sends to every other at once: the pattern of direct algorithms. For few ranks it
// holds every message; for many, only the number of messages per link, counted switch by switch (8,192 ranks
// would need 67 million routes). The other groups of a request do the same.

#include "collectives/plan.hpp"

namespace trainyard {

/// The pattern and the costs of its slowest message; `limit` as PatternMaker::limit().
struct AllPairs {
  Pattern pattern;
  Seconds latency;
  Bandwidth limit{std::numeric_limits<double>::infinity()};
  double startup = 0;
};

/// Groups up to this size have a pattern of edges, if these are not too many for all groups together.
constexpr std::size_t most_ranks_with_edges = 256;
constexpr std::size_t most_edges = 1 << 20;

AllPairs all_pairs(const Cluster& cluster, const ProtocolOverheads& overheads,
                   const CollectiveRequest& request);

/// With `uses` instead of edges, for any number of ranks. Throws Unreachable if some ranks cannot reach each
/// other, InputError if more than 2^31 - 1 messages cross one link.
AllPairs counted_pairs(const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request);

}  // namespace trainyard
