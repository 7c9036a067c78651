#include "collectives/bounds.hpp"

#include "collectives/nvls.hpp"
#include "collectives/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

/// Bandwidth of all links that leave a GPU together.
Bandwidth injection(const Platform& platform, DeviceId gpu) {
  Bandwidth sum;
  const auto [begin, end] = boost::out_edges(gpu, platform.node);
  for (auto edge = begin; edge != end; ++edge) sum += platform.node[*edge].bandwidth.value;
  return sum;
}

/// The parts into which a cut divides a group.
struct Parties {
  int count = 0;   ///< of those with ranks
  int fewest = 0;  ///< ranks of one
  int most = 0;
};

/// Lower bound on the bytes sent by the party that must send most.
Bytes must_leave(Operation operation, Parties parties, int ranks, Bytes size) {
  const auto count = static_cast<double>(parties.count);
  switch (operation) {
    case Operation::all_reduce:
      return size * (2 * (count - 1) / count);
    case Operation::reduce_scatter:
    case Operation::all_gather:
      // every part that belongs outside leaves as one sum, or comes in as one copy: most for the smallest
      // party
      return size * (1 - static_cast<double>(parties.fewest) / ranks);
    case Operation::all_to_all: {
      double largest = 0;
      for (const int here : {parties.fewest, parties.most})
        largest = std::max(largest, static_cast<double>(here) * (ranks - here) / ranks);
      return size * largest;
    }
    case Operation::gather:
    case Operation::scatter:
      // the root's party may be the largest
      return size * (1 - static_cast<double>(parties.most) / ranks);
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv:
      break;
  }
  return size;
}

/// Lower bound if each party can send at most at rate `each`. Zero if there is only one party.
Seconds bandwidth_bound(Operation operation, Parties parties, int ranks, Bytes size, Bandwidth each) {
  if (parties.count < 2 || each <= Bandwidth{}) return Seconds{};
  return must_leave(operation, parties, ranks, size) / each;
}

/// Ranks in each party, by its number; empty parties are left out.
std::vector<int> parties_of(const std::vector<NodeShare>& shares, const NarrowCut& cut) {
  std::vector<std::pair<int, int>> parts;
  for (const NodeShare& share : shares) {
    const int node = index(share.node);
    parts.emplace_back(cut.party_of_node ? cut.party_of_node(node) : node,
                       static_cast<int>(share.ranks.size()));
  }
  std::ranges::sort(parts);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && parts[i].first == parts[i - 1].first) {
      ranks.back() += parts[i].second;
    } else {
      ranks.push_back(parts[i].second);
    }
  }
  return ranks;
}

Parties counted(const std::vector<int>& parties) {
  const auto [fewest, most] = std::ranges::minmax_element(parties);
  return {.count = static_cast<int>(parties.size()), .fewest = *fewest, .most = *most};
}

/// The parties of all ranks of alike nodes.
Parties parties_of_all(const Cluster& cluster, const NarrowCut& cut) {
  const int per_node = cluster.gpus_on_node.front();
  if (!cut.party_of_node) return {.count = cluster.nodes, .fewest = per_node, .most = per_node};
  std::vector<int> nodes;  // by party
  for (int node = 0; node < cluster.nodes; ++node) {
    const std::size_t party = at(cut.party_of_node(node));
    if (party >= nodes.size()) nodes.resize(party + 1, 0);
    ++nodes[party];
  }
  std::erase(nodes, 0);
  Parties parties = counted(nodes);
  parties.fewest *= per_node;
  parties.most *= per_node;
  return parties;
}

/// The fabrics that are narrower than the NICs below them, and the NICs of the nodes.
std::vector<NarrowCut> cuts_of(const Cluster& cluster) {
  if (cluster.nodes < 2) return {};
  std::vector<NarrowCut> cuts = cluster.network->narrow_cuts();
  const auto nics = static_cast<double>(cluster.platform.nics.size());
  cuts.push_back({nullptr, cluster.platform.fabric.nic.value * nics});
  return cuts;
}

/// Lower bound from the cuts; `parties_of` gives the parties of each.
template <class PartiesOf>
Seconds network_bound(const std::vector<NarrowCut>& cuts, Operation operation, PartiesOf parties_of,
                      int ranks, Bytes size) {
  Seconds longest;
  for (const NarrowCut& cut : cuts)
    longest = std::max(longest, bandwidth_bound(operation, parties_of(cut), ranks, size, cut.rate));
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

/// The rates of a machine that bound any collective on it.
struct MachineRates {
  Bandwidth best_gpu;  ///< out of a GPU
  std::vector<NarrowCut> cuts;
};

MachineRates rates_of(const Cluster& cluster) {
  MachineRates rates{.best_gpu = {}, .cuts = cuts_of(cluster)};
  for (const DeviceId gpu : cluster.platform.gpus)
    rates.best_gpu = std::max(rates.best_gpu, injection(cluster.platform, gpu));
  return rates;
}

/// The least part of the size that a rank sends. If switches add, a rank sends its data once.
double least_sent(const Cluster& cluster, Operation operation, std::span<const Rank> group,
                  const std::vector<NodeShare>& shares) {
  const auto is_added = [&](const NodeShare& share) {
    return adding_switch(cluster, share.ranks).has_value();
  };
  if (operation == Operation::all_reduce && std::ranges::any_of(shares, is_added)) return 1;
  return sent_share(operation, static_cast<int>(group.size()));
}

/// `together`: groups that share the links between nodes.
Seconds bound_on(const MachineRates& rates, const Cluster& cluster, const ProtocolOverheads& overheads,
                 Operation operation, std::span<const Rank> group, int together, Bytes size) {
  if (group.size() < 2) return Seconds{};
  const auto ranks = static_cast<int>(group.size());
  const bool is_whole = cluster.nodes > 1 && fills_alike_nodes(cluster, group);
  // if all nodes are alike, the first one stands for them
  const std::vector<NodeShare> shares =
      node_shares(cluster, is_whole ? group.first(at(cluster.gpus_on_node.front())) : group);
  const Seconds by_ranks = size / rates.best_gpu * least_sent(cluster, operation, group, shares);
  if (shares.size() == 1 && !is_whole)
    return std::max(by_ranks, quickest_inside(cluster, overheads, shares.front()));
  const auto parties = [&](const NarrowCut& cut) {
    return is_whole ? parties_of_all(cluster, cut) : counted(parties_of(shares, cut));
  };
  return std::max({by_ranks, network_bound(rates.cuts, operation, parties, ranks, together * size),
                   cluster.platform.fabric.latency.value});
}

/// The kinds of ways from a GPU to the NICs of its node.
std::vector<std::pair<PathType, Bandwidth>> ways_to_nics(const Cluster& cluster, std::size_t gpu) {
  std::vector<std::pair<PathType, Bandwidth>> ways;
  for (const NodePath& path : cluster.inside.gpu_to_nic[gpu]) ways.emplace_back(path.type, path.limit);
  std::ranges::sort(ways);
  return ways;
}

/// Whether the GPUs of a node are alike: so are the ways between any two of them, and those to the NICs.
bool has_alike_ways(const Cluster& cluster) {
  const int gpus = cluster.gpus_on_node.front();
  for (std::size_t gpu = 1; gpu < cluster.inside.gpu_to_nic.size(); ++gpu) {
    if (ways_to_nics(cluster, gpu) != ways_to_nics(cluster, 0)) return false;
  }
  if (gpus < 2) return true;
  const NodePath& first = path_inside(cluster, Rank{0}, Rank{1});
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      const NodePath& path = path_inside(cluster, Rank{from}, Rank{to});
      if (!path.reachable || path.type != first.type || path.limit != first.limit) return false;
    }
  }
  return true;
}

std::vector<Rank> ascending(std::vector<Rank> group) {
  if (!std::ranges::is_sorted(group)) std::ranges::sort(group);
  return group;
}

}  // namespace

Seconds collective_bound(const Cluster& cluster, const ProtocolOverheads& overheads, Operation operation,
                         std::span<const Rank> group, Bytes size) {
  return bound_on(rates_of(cluster), cluster, overheads, operation, group, 1, size);
}

Seconds collective_bound(const Cluster& cluster, const ProtocolOverheads& overheads, Operation operation,
                         std::span<const BoundingGroup> groups, Bytes size) {
  const MachineRates rates = rates_of(cluster);
  Seconds longest;
  for (const BoundingGroup& group : groups) {
    const bool is_one_way = has_root(operation) || operation == Operation::send_recv;
    const int together = is_one_way ? 1 : group.together;
    longest = std::max(longest, bound_on(rates, cluster, overheads, operation, group.ranks, together, size));
  }
  return longest;
}

std::vector<BoundingGroup> bounding_groups(const Cluster& cluster, const RankGroups& groups) {
  if (groups.size() == 1) return {{.ranks = ascending(groups.front()), .together = 1}};
  const std::vector<NarrowCut> cuts = cuts_of(cluster);
  const bool is_alike = has_alike_ways(cluster);
  std::map<std::vector<std::pair<int, int>>, int> together;  // by node and its number of ranks
  std::map<std::vector<std::vector<int>>, std::size_t> of_kind;
  std::vector<BoundingGroup> result;
  for (const std::vector<Rank>& group : groups) {
    std::vector<Rank> ranks = ascending(group);
    const std::vector<NodeShare> shares = node_shares(cluster, ranks);
    std::vector<std::vector<int>> kind;
    int alike = 1;
    if (shares.size() == 1) {
      kind.push_back(gpus_of(cluster, shares.front().node, ranks));
    } else {
      std::vector<std::pair<int, int>> spread;
      for (const NodeShare& share : shares)
        spread.emplace_back(index(share.node), static_cast<int>(share.ranks.size()));
      if (is_alike) alike = ++together[std::move(spread)];
      kind.emplace_back();  // so that it is not taken for a set of GPUs
      for (const NarrowCut& cut : cuts) kind.push_back(parties_of(shares, cut));
    }
    const auto [place, is_new] = of_kind.try_emplace(std::move(kind), result.size());
    if (is_new) result.push_back({.ranks = std::move(ranks), .together = 1});
    result[place->second].together = std::max(result[place->second].together, alike);
  }
  return result;
}

}  // namespace trainyard
