#pragma once
// Trees of ranks in which chunks flow down and sums flow up: used for chains, binary trees, and the opened
// rings of broadcast and reduce.

#include "collectives/edge_counter.hpp"
#include "collectives/plan.hpp"

#include <array>
#include <map>
#include <span>
#include <vector>

namespace trainyard {

/// The ranks of a tree, every rank after its parent.
struct RankTree {
  std::vector<Rank> ranks;   ///< the root first
  std::vector<int> parents;  ///< by place in `ranks`: the place of its parent; -1 for the root

  int add(Rank rank, int parent) {
    ranks.push_back(rank);
    parents.push_back(parent);
    return static_cast<int>(ranks.size()) - 1;
  }
};

/// Adds the order's ranks below `parent`, a place in the tree (-1: as its root), each below the previous one;
/// returns the place of the first.
int add_path(RankTree& tree, std::span<const Rank> order, int parent);

/// The order as a line with `root`, one of its ranks, as the tree's root: branches go both ways from there.
RankTree line(std::span<const Rank> order, Rank root);

/// A ring cut open at the root: a line that begins there and keeps the ring's direction or, if data flows
/// towards the root, one that ends there.
RankTree opened_ring(std::span<const Rank> order, Rank root, bool is_towards_root);

/// Adds the edges of a tree for an operation: upwards for a reduce, each passing on its children's data;
/// downwards for a broadcast; both for an all_reduce, where the root passes the received data on downwards.
void add_edges(PatternMaker& maker, const RankTree& tree, Operation operation, int nic = -1);

/// A binary tree over nodes 0, 1, ...
struct BinaryTree {
  std::vector<int> parents;   ///< -1: the root
  std::vector<int> top_down;  ///< all nodes, each after its parent
};

/// Counts the edges of an all_reduce over a tree of alike nodes and returns its longest path: the ranks of
/// every node are a chain in the order of `gpus`, whose first one belongs to the tree.
PatternMaker::Path count_tree(EdgeCounter& edges, const BinaryTree& nodes, std::span<const int> gpus,
                              int nic = -1);

/// The most children that a rank has in two such trees.
int most_children(std::span<const BinaryTree> trees, std::size_t gpus_of_node);

/// The children of each rank in several trees together: edges whose data it adds to its own.
class ChildCount {
public:
  void add(const RankTree& tree);
  [[nodiscard]] int most() const;

private:
  std::map<Rank, int> of_;
};

/// Two binary trees, each for half of the data, of height ceil(log2 n): the inner nodes of one are leaves of
/// the other, except for the roots of odd numbers. In the first, the lowest set bit of a node determines its
/// parent, so every second node is a leaf; the second is its mirror image if n is even, and the first shifted
/// by one if it is odd. Source: Sanders, Speck and Traeff 2009, "Two-tree algorithms for full bandwidth
/// broadcast, reduction and scan"; NVIDIA/nccl src/graph/trees.cc.
std::array<BinaryTree, 2> double_binary_tree(int nodes);

/// As above, with a common root: it feeds the two trees over the other nodes, as in the paper.
std::array<BinaryTree, 2> double_binary_tree(int nodes, int root);

/// The tree over one rank of each node, ranks[i] of node i.
RankTree over_nodes(const BinaryTree& nodes, std::span<const Rank> ranks);

}  // namespace trainyard
