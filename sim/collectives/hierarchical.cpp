#include "collectives/algorithm_plans.hpp"
#include "collectives/rank_tree.hpp"
#include "collectives/requirements.hpp"
#include "collectives/ring.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace trainyard {

namespace {

/// Rings through a node, as numbers of its GPUs.
using NodeRings = std::vector<std::vector<int>>;

NodeRings rings_of_node(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm,
                        const NodeShare& share) {
  NodeRings rings;
  for (const Channel& channel : ring_channels(cluster, share.ranks)) {
    if (channel.is_chain) refuse(cluster, request, algorithm, no_ring(share.ranks.size()));
    rings.push_back(gpus_of(cluster, share.node, channel.order));
  }
  return rings;
}

/// Adds the same number of rings inside every node; returns that number.
std::size_t add_rings_inside(PatternMaker& maker, const Cluster& cluster, const CollectiveRequest& request,
                             Algorithm algorithm, const std::vector<NodeShare>& shares) {
  // one search per set of GPUs
  std::map<std::vector<int>, NodeRings> found;
  std::vector<const NodeRings*> rings;
  std::size_t fewest = request.group.size();
  for (const NodeShare& share : shares) {
    const std::vector<int> gpus = gpus_of(cluster, share.node, share.ranks);
    auto entry = found.find(gpus);
    if (entry == found.end())
      entry = found.emplace(gpus, rings_of_node(cluster, request, algorithm, share)).first;
    rings.push_back(&entry->second);
    fewest = std::min(fewest, entry->second.size());
  }
  maker.reserve(request.group.size() * fewest);
  std::vector<Rank> order;
  for (std::size_t node = 0; node < shares.size(); ++node) {
    for (std::size_t ring = 0; ring < fewest; ++ring) {
      order.clear();
      for (const int gpu : (*rings[node])[ring])
        order.push_back(Rank{cluster.first_rank[at(index(shares[node].node))] + gpu});
      add_ring(maker, order);
    }
  }
  return fewest;
}

/// The ranks with number `local` in their nodes.
std::vector<Rank> counterparts(const std::vector<NodeShare>& shares, std::size_t local) {
  std::vector<Rank> ranks;
  for (const NodeShare& share : shares) ranks.push_back(share.ranks[local]);
  return ranks;
}

void add_rings_between(CollectivePlan& plan, PatternMaker& maker, const ProtocolOverheads& overheads,
                       const std::vector<NodeShare>& shares) {
  const auto nodes = static_cast<int>(shares.size());
  const std::size_t per_node = shares.front().ranks.size();
  maker.reserve(per_node * shares.size());
  for (std::size_t local = 0; local < per_node; ++local) add_ring(maker, counterparts(shares, local));
  add_rounds(plan, maker, ring_rounds(plan.operation, nodes), 1.0 / (static_cast<double>(per_node) * nodes),
             ring_latency(maker, nodes));
  add_sums(plan, overheads, summed_part(plan.operation));
}

void add_trees_between(CollectivePlan& plan, PatternMaker& maker, const ProtocolOverheads& overheads,
                       const std::vector<NodeShare>& shares) {
  const std::size_t per_node = shares.front().ranks.size();
  ChildCount children;
  maker.reserve(4 * per_node * shares.size());
  for (std::size_t local = 0; local < per_node; ++local) {
    const std::vector<Rank> ranks = counterparts(shares, local);
    const std::array<BinaryTree, 2> trees = double_binary_tree(static_cast<int>(shares.size()));
    for (const BinaryTree& between : trees) {
      const RankTree tree = over_nodes(between, ranks);
      if (std::isfinite(overheads.sums.si())) children.add(tree);
      add_edges(maker, tree, plan.operation);
    }
  }
  add_chunked(plan, maker, 0.5 / static_cast<double>(per_node));
  add_sums(plan, overheads, children.most());
}

/// All nodes do as the first one does.
CollectivePlan counted_levels(const Cluster& cluster, const ProtocolOverheads& overheads,
                              const CollectiveRequest& request, Algorithm algorithm) {
  CollectivePlan plan = new_plan(overheads, request, algorithm);
  const int per_node = cluster.gpus_on_node.front();
  const auto add_rings = [&] {
    EdgeCounter edges(cluster, overheads, request.protocol);
    RingCounter rings(edges);
    for (int gpu = 0; gpu < per_node; ++gpu) {
      for (int node = 0; node < cluster.nodes; ++node)
        rings.add(edges.add_between(node, gpu, (node + 1) % cluster.nodes, gpu, -1));
      rings.end_ring();
    }
    add_rounds(plan, edges, ring_rounds(plan.operation, cluster.nodes),
               1.0 / (static_cast<double>(per_node) * cluster.nodes), rings.largest_mean());
    add_sums(plan, overheads, summed_part(plan.operation));
  };
  const auto add_trees = [&] {
    EdgeCounter edges(cluster, overheads, request.protocol);
    const std::array<BinaryTree, 2> trees = double_binary_tree(cluster.nodes);
    PatternMaker::Path longest;
    for (int gpu = 0; gpu < per_node; ++gpu) {
      for (const BinaryTree& between : trees) {
        const PatternMaker::Path way = count_tree(edges, between, {&gpu, 1});
        longest = {std::max(longest.edges, way.edges), std::max(longest.latency, way.latency)};
      }
    }
    add_chunked(plan, edges, longest, 0.5 / static_cast<double>(per_node));
    if (std::isfinite(overheads.sums.si())) add_sums(plan, overheads, most_children(trees, 1));
  };
  const auto add_between = [&] {
    if (algorithm == Algorithm::hierarchical) {
      add_rings();
    } else {
      add_trees();
    }
  };
  if (per_node == 1) {
    add_between();
    return plan;
  }
  const std::span<const Rank> first = std::span(request.group).first(at(per_node));
  const NodeRings in_node = rings_of_node(cluster, request, algorithm, {NodeId{0}, first});
  const auto add_inside = [&] {
    EdgeCounter edges(cluster, overheads, request.protocol);
    RingCounter rings(edges);
    for (const std::vector<int>& ring : in_node) {
      for (std::size_t i = 0; i < ring.size(); ++i)
        rings.add(edges.add_on_all(ring[i], ring[(i + 1) % ring.size()]));
      rings.end_ring();
    }
    add_rounds(plan, edges, per_node - 1, 1.0 / (per_node * static_cast<double>(in_node.size())),
               rings.largest_mean());
    add_sums(plan, overheads, reduces(plan.operation) ? static_cast<double>(in_node.size()) : 0);
  };
  plan.channels = static_cast<int>(in_node.size());
  add_levels(plan, add_inside, add_between);
  return plan;
}

CollectivePlan two_levels(const Cluster& cluster, const ProtocolOverheads& overheads,
                          const CollectiveRequest& request, Algorithm algorithm) {
  require(cluster, request, algorithm);
  if (can_count(cluster, request)) {
    CollectivePlan counted = counted_levels(cluster, overheads, request, algorithm);
    add_sources(counted, cluster, overheads, request,
                algorithm == Algorithm::hierarchical ? hierarchical : hierarchical_tree);
    return counted;
  }
  CollectivePlan plan = new_plan(overheads, request, algorithm);
  if (request.group.size() < 2) return plan;
  const std::vector<NodeShare> shares = node_shares(cluster, request.group);
  const auto per_node = static_cast<int>(shares.front().ranks.size());

  PatternMaker between(cluster, overheads, request);
  const auto add_between = [&] {
    if (algorithm == Algorithm::hierarchical) {
      add_rings_between(plan, between, overheads, shares);
    } else {
      add_trees_between(plan, between, overheads, shares);
    }
  };
  if (per_node == 1) {
    add_between();
    return plan;
  }
  PatternMaker inside(cluster, overheads, request);
  const std::size_t rings = add_rings_inside(inside, cluster, request, algorithm, shares);
  const auto add_inside = [&] {
    add_rounds(plan, inside, per_node - 1, 1.0 / (per_node * static_cast<double>(rings)),
               ring_latency(inside, per_node));
    add_sums(plan, overheads, reduces(plan.operation) ? static_cast<double>(rings) : 0);
  };
  plan.channels = static_cast<int>(rings);
  add_levels(plan, add_inside, add_between);
  return plan;
}

}  // namespace

CollectivePlan hierarchical(const Cluster& cluster, const ProtocolOverheads& overheads,
                            const CollectiveRequest& request) {
  return two_levels(cluster, overheads, request, Algorithm::hierarchical);
}

CollectivePlan hierarchical_tree(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 const CollectiveRequest& request) {
  return two_levels(cluster, overheads, request, Algorithm::hierarchical_tree);
}

}  // namespace trainyard
