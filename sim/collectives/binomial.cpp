// Binomial trees for broadcast and reduce, and the broadcast that scatters along one and gathers around a
// ring.
#include "collectives/algorithm_plans.hpp"
#include "collectives/requirements.hpp"
#include "collectives/ring.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace trainyard {

namespace {

/// The group beginning with the root, and then in its order from there.
std::vector<Rank> from_root(const CollectiveRequest& request) {
  std::vector<Rank> ranks = request.group;
  std::ranges::rotate(ranks, std::ranges::find(ranks, request.root));
  return ranks;
}

/// One round along a binomial tree, between places `distance` apart: each message is `share` of the size.
void add_level(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
               const CollectiveRequest& request, const std::vector<Rank>& ranks, std::size_t distance,
               double share) {
  PatternMaker maker(cluster, overheads, request);
  const bool is_reduce = request.operation == Operation::reduce;
  for (std::size_t place = 0; place + distance < ranks.size(); place += 2 * distance) {
    const Rank above = ranks[place];
    const Rank below = ranks[place + distance];
    maker.add(is_reduce ? below : above, is_reduce ? above : below);
  }
  add_rounds(plan, maker, 1, share, maker.largest_latency());
  add_sums(plan, overheads, is_reduce ? 1 : 0);
}

}  // namespace

CollectivePlan binomial(const Cluster& cluster, const ProtocolOverheads& overheads,
                        const CollectiveRequest& request) {
  require(cluster, request, Algorithm::binomial);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::binomial);
  const std::vector<Rank> ranks = from_root(request);
  std::vector<std::size_t> distances;
  for (std::size_t distance = 1; distance < ranks.size(); distance *= 2) distances.push_back(distance);
  if (request.operation == Operation::broadcast) std::ranges::reverse(distances);
  for (const std::size_t distance : distances)
    add_level(plan, cluster, overheads, request, ranks, distance, 1);
  return plan;
}

CollectivePlan scatter_allgather(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 const CollectiveRequest& request) {
  require(cluster, request, Algorithm::scatter_allgather);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::scatter_allgather);
  const std::vector<Rank> ranks = from_root(request);
  if (ranks.size() < 2) return plan;
  const auto count = static_cast<int>(ranks.size());
  for (std::size_t distance = std::bit_ceil(ranks.size()) / 2; distance >= 1; distance /= 2)
    add_level(plan, cluster, overheads, request, ranks, distance, static_cast<double>(distance) / count);
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(ranks.size());
  add_ring(maker, ranks);
  add_rounds(plan, maker, count - 1, 1.0 / count, ring_latency(maker, count));
  return plan;
}

}  // namespace trainyard
