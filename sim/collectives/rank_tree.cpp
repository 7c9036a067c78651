#include "collectives/rank_tree.hpp"

#include "collectives/flat_lists.hpp"

#include <algorithm>
#include <bit>

namespace trainyard {

namespace {

/// The places below each place of a tree.
FlatLists children_of(const std::vector<int>& parents) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t place = 1; place < parents.size(); ++place)
    pairs.emplace_back(parents[place], static_cast<int>(place));
  return {parents.size(), pairs};
}

/// The parent of a node in the first of the two trees; -1: none.
int first_parent(int node, int nodes) {
  if (node == 0) return -1;
  const int lowest = node & -node;
  const int left = node - lowest;          // parent of right children
  const int right = left | (lowest << 1);  // parent of left children, if there are that many nodes
  return right < nodes ? right : left;
}

/// The depth of each place in the first tree. A place's parent has a higher lowest bit.
std::vector<std::uint8_t> depths_of(int nodes) {
  std::vector<std::uint8_t> depths(at(nodes), 0);
  for (int bit = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes))); bit > 0; bit /= 2) {
    for (int place = bit; place < nodes; place += 2 * bit)
      depths[at(place)] = static_cast<std::uint8_t>(depths[at(first_parent(place, nodes))] + 1);
  }
  return depths;
}

/// The first tree over `nodes` places; place p is node node_at(p).
template <class NodeAt>
BinaryTree tree_over(int nodes, NodeAt node_at) {
  BinaryTree tree{.parents = std::vector<int>(at(nodes)), .top_down = {}};
  const std::vector<std::uint8_t> depths = depths_of(nodes);
  std::vector<std::size_t> begins(2 + at(std::ranges::max(depths)), 0);
  for (int place = 0; place < nodes; ++place) {
    const int parent = first_parent(place, nodes);
    tree.parents[at(node_at(place))] = parent < 0 ? -1 : node_at(parent);
    ++begins[at(depths[at(place)]) + 1];
  }
  for (std::size_t depth = 1; depth < begins.size(); ++depth) begins[depth] += begins[depth - 1];
  tree.top_down.resize(at(nodes));
  for (int place = 0; place < nodes; ++place) tree.top_down[begins[depths[at(place)]]++] = node_at(place);
  return tree;
}

PatternMaker::Path longer(PatternMaker::Path one, PatternMaker::Path other) {
  return {std::max(one.edges, other.edges), std::max(one.latency, other.latency)};
}

PatternMaker::Path continued(PatternMaker::Path way, EdgeCounter::Edge edge) {
  return {way.edges + 1, way.latency + edge.latency};
}

}  // namespace

int add_path(RankTree& tree, std::span<const Rank> order, int parent) {
  const auto first = static_cast<int>(tree.ranks.size());
  for (const Rank rank : order) parent = tree.add(rank, parent);
  return first;
}

RankTree line(std::span<const Rank> order, Rank root) {
  const std::size_t middle =
      at(static_cast<int>(std::find(order.begin(), order.end(), root) - order.begin()));
  const std::vector<Rank> before(order.rbegin() + static_cast<std::ptrdiff_t>(order.size() - middle),
                                 order.rend());
  RankTree tree;
  add_path(tree, order.subspan(middle), -1);
  add_path(tree, before, 0);
  return tree;
}

RankTree opened_ring(std::span<const Rank> order, Rank root, bool is_towards_root) {
  std::vector<Rank> way(order.begin(), order.end());
  if (is_towards_root) std::reverse(way.begin(), way.end());
  std::rotate(way.begin(), std::find(way.begin(), way.end(), root), way.end());
  RankTree tree;
  add_path(tree, way, -1);
  return tree;
}

void ChildCount::add(const RankTree& tree) {
  for (const int parent : tree.parents) {
    if (parent >= 0) ++of_[tree.ranks[at(parent)]];
  }
}

int ChildCount::most() const {
  int most = 0;
  for (const auto& [rank, children] : of_) most = std::max(most, children);
  return most;
}

void add_edges(PatternMaker& maker, const RankTree& tree, Operation operation, int nic) {
  const auto n = static_cast<int>(tree.ranks.size());
  const FlatLists children = children_of(tree.parents);
  const auto up = static_cast<int>(maker.pattern().edges.size());
  std::vector<std::int32_t> passes_on;
  // place i sends upwards on edge up + n-1-i: its children come later in the tree and send before it
  const auto gather = [&](int place) {
    passes_on.clear();
    for (const int child : children.of(place)) passes_on.push_back(up + n - 1 - child);
  };
  if (reduces(operation)) {
    for (int place = n - 1; place > 0; --place) {
      gather(place);
      maker.add(tree.ranks[at(place)], tree.ranks[at(tree.parents[at(place)])], nic, passes_on);
    }
  }
  if (operation == Operation::reduce) return;
  // place i receives from above on edge down + i
  const int down = static_cast<int>(maker.pattern().edges.size()) - 1;
  for (int place = 1; place < n; ++place) {
    const int parent = tree.parents[at(place)];
    passes_on.clear();
    if (parent > 0) {
      passes_on.push_back(down + parent);
    } else if (operation == Operation::all_reduce) {
      gather(0);
    }
    maker.add(tree.ranks[at(parent)], tree.ranks[at(place)], nic, passes_on);
  }
}

PatternMaker::Path count_tree(EdgeCounter& edges, const BinaryTree& nodes, std::span<const int> gpus,
                              int nic) {
  PatternMaker::Path in_node;  // until the chain's data has arrived at its first rank
  std::vector<EdgeCounter::Edge> down_chain;
  for (std::size_t i = gpus.size() - 1; i > 0; --i)
    in_node = continued(in_node, edges.add_on_all(gpus[i], gpus[i - 1]));
  for (std::size_t i = 1; i < gpus.size(); ++i) down_chain.push_back(edges.add_on_all(gpus[i - 1], gpus[i]));

  std::vector<PatternMaker::Path> until(nodes.parents.size(), in_node);  // data of all below has arrived
  const int gpu = gpus.front();
  for (std::size_t i = nodes.top_down.size(); i-- > 1;) {
    const int node = nodes.top_down[i];
    const int parent = nodes.parents[at(node)];
    const auto way = continued(until[at(node)], edges.add_between(node, gpu, parent, gpu, nic));
    until[at(parent)] = longer(until[at(parent)], way);
  }
  PatternMaker::Path longest = until[at(nodes.top_down.front())];
  for (const int node : std::span(nodes.top_down).subspan(1)) {
    const int parent = nodes.parents[at(node)];
    until[at(node)] = continued(until[at(parent)], edges.add_between(parent, gpu, node, gpu, nic));
    longest = longer(longest, until[at(node)]);
  }
  for (const EdgeCounter::Edge& edge : down_chain) longest = continued(longest, edge);
  return longest;
}

int most_children(std::span<const BinaryTree> trees, std::size_t gpus_of_node) {
  const auto in_chains = static_cast<int>(trees.size());
  std::vector<int> children(trees.front().parents.size(), gpus_of_node > 1 ? in_chains : 0);
  for (const BinaryTree& tree : trees) {
    for (const int parent : tree.parents) {
      if (parent >= 0) ++children[at(parent)];
    }
  }
  return std::ranges::max(children);
}

std::array<BinaryTree, 2> double_binary_tree(int nodes) {
  const bool is_even = nodes % 2 == 0;
  return {tree_over(nodes, [](int place) { return place; }),
          tree_over(nodes, [&](int place) { return is_even ? nodes - 1 - place : (place + 1) % nodes; })};
}

std::array<BinaryTree, 2> double_binary_tree(int nodes, int root) {
  // node `root` takes place 0 in both; the others take places 1, 2, ... and, in the second tree, mirrored or
  // shifted
  const int below_root = nodes - 1;
  const auto node_of = [&](int place) { return (root + place) % nodes; };
  return {tree_over(nodes, node_of), tree_over(nodes, [&](int place) {
            if (place == 0) return root;
            return node_of(below_root % 2 == 0 ? below_root + 1 - place : place % below_root + 1);
          })};
}

RankTree over_nodes(const BinaryTree& nodes, std::span<const Rank> ranks) {
  RankTree tree;
  std::vector<int> places(ranks.size(), -1);
  for (const int node : nodes.top_down) {
    const int parent = nodes.parents[at(node)];
    places[at(node)] = tree.add(ranks[at(node)], parent < 0 ? -1 : places[at(parent)]);
  }
  return tree;
}

}  // namespace trainyard
