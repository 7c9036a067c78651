#pragma once
// Every rank of a group sends to every other at once: the pattern of direct algorithms. Few ranks' messages
// are held one by one; of many only how often each link is used, counted switch by switch, so that 8,192
// ranks cost no 67 million routes.

#include "collectives/plan.hpp"

namespace trainyard {

/// The pattern and what its slowest message costs; `limit` as PatternMaker::limit().
struct AllPairs {
  Pattern pattern;
  Seconds latency;
  Bandwidth limit{std::numeric_limits<double>::infinity()};
  double startup = 0;
};

/// Groups up to this size have a pattern of edges.
constexpr std::size_t most_ranks_with_edges = 256;

AllPairs all_pairs(const Cluster& cluster, const Costs& costs, Protocol protocol,
                   std::span<const Rank> group);

/// With `uses` in place of edges, whatever the number of ranks. Throws Unreachable if some ranks cannot reach
/// each other, InputError if more than 2^31 - 1 messages cross one link.
AllPairs counted_pairs(const Cluster& cluster, const Costs& costs, Protocol protocol,
                       std::span<const Rank> group);

}  // namespace trainyard
