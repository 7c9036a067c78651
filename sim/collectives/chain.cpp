#include "collectives/chain.hpp"

#include "collectives/ring.hpp"

#include <algorithm>
#include <ranges>

namespace trainyard {

namespace {

/// The ranks in the order in which a piece of the data passes them: to the end of the chain and back.
std::vector<Rank> there_and_back(const Channel& chain) {
  std::vector<Rank> way = chain.order;
  way.insert(way.end(), std::next(chain.order.rbegin()), chain.order.rend());
  return way;
}

}  // namespace

Pattern chain_pattern(const Cluster& cluster, const Channel& chain) {
  Pattern pattern;
  const std::vector<Rank> way = there_and_back(chain);
  for (std::size_t i = 0; i + 1 < way.size(); ++i) {
    const Route hop = route(cluster, way[i], way[i + 1]);
    pattern.add_edge({way[i], way[i + 1], static_cast<int>(i) - 1}, hop.links);
    for (const LinkId link : hop.links)
      pattern.limit = std::min(pattern.limit, capacity(cluster, link) / lanes(cluster, link));
  }
  return pattern;
}

Seconds chain_step_latency(const Cluster& cluster, const Channel& chain, const RingCosts& costs) {
  Seconds sum;
  for (std::size_t i = 0; i + 1 < chain.order.size(); ++i)
    sum += edge_latency(route(cluster, chain.order[i], chain.order[i + 1]), costs);
  return sum / static_cast<double>(chain.order.size() - 1);
}

Collective chain_all_reduce(Bytes size, int ranks, int pattern, Seconds overhead, Seconds step_latency) {
  const int hops = 2 * (ranks - 1);
  return {.operation = Operation::all_reduce,
          .size = size,
          .overhead = overhead,
          .pattern = pattern,
          .rounds = hops,
          .latency = step_latency,
          .bytes = size / hops};
}

Seconds chain_all_reduce_time(int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  return size / bandwidth + latency * (2.0 * (ranks - 1));
}

}  // namespace trainyard
