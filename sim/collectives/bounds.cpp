#include "collectives/bounds.hpp"

#include "collectives/plan.hpp"

#include <algorithm>
#include <optional>

namespace trainyard {

namespace {

/// Bandwidth of all links that leave a GPU together.
Bandwidth injection(const Platform& platform, DeviceId gpu) {
  Bandwidth sum;
  const auto [begin, end] = boost::out_edges(gpu, platform.node);
  for (auto edge = begin; edge != end; ++edge) sum += platform.node[*edge].bandwidth.value;
  return sum;
}

/// Lower bound on the bytes sent by the party that must send most. `parties`: the number of ranks in each.
Bytes must_leave(Operation operation, std::span<const int> parties, int ranks, Bytes size) {
  const auto [fewest, most] = std::ranges::minmax_element(parties);
  const auto count = static_cast<double>(parties.size());
  switch (operation) {
    case Operation::all_reduce:
      return size * (2 * (count - 1) / count);
    case Operation::reduce_scatter:
    case Operation::all_gather:
      // every part that belongs outside leaves as one sum, or comes in as one copy: most for the smallest
      // party
      return size * (1 - static_cast<double>(*fewest) / ranks);
    case Operation::all_to_all: {
      double largest = 0;
      for (const int here : {*fewest, *most})
        largest = std::max(largest, static_cast<double>(here) * (ranks - here) / ranks);
      return size * largest;
    }
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv:
      break;
  }
  return size;
}

/// Lower bound if each party can send at most at rate `each`. Zero if there is only one party.
Seconds bandwidth_bound(Operation operation, const std::vector<int>& parties, int ranks, Bytes size,
                        Bandwidth each) {
  if (parties.size() < 2 || each <= Bandwidth{}) return Seconds{};
  return must_leave(operation, parties, ranks, size) / each;
}

/// Ranks in each party; empty parties are left out.
std::vector<int> parties_of(const std::vector<NodeShare>& shares, const NarrowCut& cut) {
  std::vector<int> ranks;
  for (const NodeShare& share : shares) {
    const std::size_t party = at(cut.party_of_node(index(share.node)));
    if (ranks.size() <= party) ranks.resize(party + 1, 0);
    ranks[party] += static_cast<int>(share.ranks.size());
  }
  std::erase(ranks, 0);
  return ranks;
}

/// Lower bound from the NICs of the nodes, and from fabrics that are narrower than the NICs below them.
Seconds network_bound(const Cluster& cluster, Operation operation, const std::vector<NodeShare>& shares,
                      int ranks, Bytes size) {
  std::vector<NarrowCut> cuts = cluster.network->narrow_cuts();
  const auto nics = static_cast<double>(cluster.platform.nics.size());
  cuts.push_back({[](int node) { return node; }, cluster.platform.fabric.nic.value * nics});
  Seconds longest;
  for (const NarrowCut& cut : cuts)
    longest = std::max(longest, bandwidth_bound(operation, parties_of(shares, cut), ranks, size, cut.rate));
  return longest;
}

/// Latency of the quickest message between two ranks of one node, by the quickest protocol.
Seconds quickest_inside(const Cluster& cluster, const ProtocolOverheads& overheads, const NodeShare& share) {
  std::optional<Seconds> quickest;
  for (const Rank from : share.ranks) {
    for (const Rank to : share.ranks) {
      const NodePath& path = path_inside(cluster, from, to);
      if (from == to || !path.reachable) continue;
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        const Seconds one =
            message_latency({path.latency, path.type, path.limit, path.beyond_usual}, overheads, protocol);
        quickest = std::min(quickest.value_or(one), one);
      }
    }
  }
  return quickest.value_or(Seconds{});
}

}  // namespace

Seconds collective_bound(const Cluster& cluster, const ProtocolOverheads& overheads, Operation operation,
                         std::span<const Rank> group, Bytes size) {
  if (group.size() < 2) return Seconds{};
  Bandwidth best_gpu;
  for (const DeviceId gpu : cluster.platform.gpus)
    best_gpu = std::max(best_gpu, injection(cluster.platform, gpu));
  const auto ranks = static_cast<int>(group.size());
  const Seconds by_ranks = size / best_gpu * sent_share(operation, ranks);
  const std::vector<NodeShare> shares = node_shares(cluster, group);
  if (shares.size() == 1) return std::max(by_ranks, quickest_inside(cluster, overheads, shares.front()));
  return std::max({by_ranks, network_bound(cluster, operation, shares, ranks, size),
                   cluster.platform.fabric.latency.value});
}

}  // namespace trainyard
