#include "collectives/algorithm_plans.hpp"
#include "collectives/rank_tree.hpp"
#include "collectives/requirements.hpp"
#include "collectives/ring.hpp"
#include "platform/channels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainyard {

namespace {

using Orders = std::vector<std::span<const Rank>>;

/// Each node's part of a ring's order, which visits one node after the other.
Orders orders_in_nodes(std::span<const Rank> order, const std::vector<NodeShare>& shares) {
  Orders orders;
  std::size_t begin = 0;
  for (const NodeShare& share : shares) {
    orders.push_back(order.subspan(begin, share.ranks.size()));
    begin += share.ranks.size();
  }
  return orders;
}

/// A channel's order with every node visited as the first: all trees of a channel meet on one rail.
std::vector<Rank> in_tree_order(const Channel& channel, const std::vector<NodeShare>& shares) {
  std::vector<Rank> order = channel.order;
  auto begin = order.begin();
  for (std::size_t node = 0; node < shares.size(); ++node) {
    const auto end = begin + static_cast<std::ptrdiff_t>(shares[node].ranks.size());
    if (channel.turns && node % 2 == 1) std::reverse(begin, end);
    begin = end;
  }
  return order;
}

/// The tree over ranks: below the first rank of each node are the rest of its node's order and the first
/// ranks of the nodes below. In the root's node the line of ranks, `root_tree`, starts at the root.
RankTree over_ranks(const BinaryTree& nodes, const Orders& orders, const RankTree& root_tree) {
  RankTree tree = root_tree;
  std::vector<int> places(orders.size(), -1);  // by node: the place of its first rank
  for (const int node : nodes.top_down) {
    const int parent = nodes.parents[at(node)];
    if (parent >= 0) {
      places[at(node)] = add_path(tree, orders[at(node)], places[at(parent)]);
    } else {
      const auto first = std::ranges::find(root_tree.ranks, orders[at(node)].front());
      places[at(node)] = static_cast<int>(first - root_tree.ranks.begin());
    }
  }
  return tree;
}

CollectivePlan counted_tree(const Cluster& cluster, const ProtocolOverheads& all_overheads,
                            const CollectiveRequest& request) {
  const ProtocolOverheads overheads = for_trees(all_overheads);
  const std::vector<Channel> channels = channels_for(cluster, overheads, request);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::tree, channels.size());
  const std::array<BinaryTree, 2> trees = double_binary_tree(cluster.nodes);
  EdgeCounter edges(cluster, overheads, request.protocol);
  PatternMaker::Path longest;
  const std::size_t per_node = at(cluster.gpus_on_node.front());
  for (const Channel& channel : channels) {
    std::vector<int> gpus;
    for (const Rank rank : std::span(channel.order).first(per_node)) gpus.push_back(index(rank));
    for (const BinaryTree& between : trees) {
      const PatternMaker::Path way = count_tree(edges, between, gpus, channel.nic);
      longest = {std::max(longest.edges, way.edges), std::max(longest.latency, way.latency)};
    }
  }
  add_chunked(plan, edges, longest, 0.5 / static_cast<double>(channels.size()),
              flows_per_channel(cluster, request.group, channels.size()));
  add_tree_turns(plan, overheads, cluster.nodes, cluster.ranks(), static_cast<int>(channels.size()));
  if (std::isfinite(overheads.sums.si())) add_sums(plan, overheads, most_children(trees, per_node));
  add_sources(plan, cluster, overheads, request, tree);
  return plan;
}

}  // namespace

CollectivePlan tree(const Cluster& cluster, const ProtocolOverheads& all_overheads,
                    const CollectiveRequest& request) {
  require(cluster, request, Algorithm::tree);
  if (request.operation == Operation::all_reduce && can_count(cluster, request))
    return counted_tree(cluster, all_overheads, request);
  const ProtocolOverheads overheads = for_trees(all_overheads);
  const std::vector<NodeShare> shares = node_shares(cluster, request.group);
  if (shares.size() < 2) {
    CollectivePlan plan = chain(cluster, overheads, request);
    plan.algorithm = Algorithm::tree;
    return plan;
  }
  const std::vector<Channel> channels = channels_for(cluster, overheads, request);
  const auto nodes = static_cast<int>(shares.size());
  const auto root_share = std::ranges::find(shares, cluster.node_of(request.root), &NodeShare::node);
  const std::array<BinaryTree, 2> trees =
      has_root(request.operation) ? double_binary_tree(nodes, static_cast<int>(root_share - shares.begin()))
                                  : double_binary_tree(nodes);

  CollectivePlan plan = new_plan(overheads, request, Algorithm::tree, channels.size());
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(4 * request.group.size() * channels.size());
  const bool sums_apart = std::isfinite(overheads.sums.si());
  ChildCount children;
  for (const Channel& channel : channels) {
    const std::vector<Rank> order = in_tree_order(channel, shares);
    const Orders orders = orders_in_nodes(order, shares);
    for (const BinaryTree& between : trees) {
      const std::span<const Rank> first = orders[at(between.top_down.front())];
      const RankTree root_tree = line(first, has_root(request.operation) ? request.root : first.front());
      const RankTree ranks = over_ranks(between, orders, root_tree);
      if (sums_apart && reduces(request.operation)) children.add(ranks);
      add_edges(maker, ranks, request.operation, channel.nic);
    }
  }
  add_chunked(plan, maker, 0.5 / static_cast<double>(channels.size()),
              flows_per_channel(cluster, request.group, channels.size()));
  add_tree_turns(plan, overheads, nodes, static_cast<int>(request.group.size()),
                 static_cast<int>(channels.size()));
  add_sums(plan, overheads, children.most());
  return plan;
}

}  // namespace trainyard
