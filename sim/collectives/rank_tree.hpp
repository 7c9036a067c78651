#pragma once
// Trees of ranks down which data flows in chunks and up which it is added up: what chains, binary trees and
// the open rings of broadcast and reduce have in common.

#include "collectives/plan.hpp"

#include <array>
#include <span>
#include <vector>

namespace trainyard {

/// The ranks of a tree, every rank after its parent.
struct RankTree {
  std::vector<Rank> ranks;   ///< the root first
  std::vector<int> parents;  ///< of each, by its place in `ranks`; -1 for the root

  int add(Rank rank, int parent) {
    ranks.push_back(rank);
    parents.push_back(parent);
    return static_cast<int>(ranks.size()) - 1;
  }
};

/// Adds the order's ranks below `parent`, a place in the tree (-1: as its root), each below the one before;
/// returns the place of the first.
int add_path(RankTree& tree, std::span<const Rank> order, int parent);

/// The order as a line with `root`, one of its ranks, as the tree's root: it goes both ways from there.
RankTree line(std::span<const Rank> order, Rank root);

/// A ring cut open at the root: a line that begins there and keeps the ring's direction, or, if what flows
/// flows towards the root, one that ends there.
RankTree opened_ring(std::span<const Rank> order, Rank root, bool is_towards_root);

/// Adds what a tree sends for an operation: a reduce's edges upwards, each passing on what its children sent;
/// a broadcast's downwards; of an all_reduce both, where the root passes on downwards what reached it.
void add_edges(PatternMaker& maker, const RankTree& tree, Operation operation, int nic = -1);

/// A binary tree over nodes 0, 1, ...
struct BinaryTree {
  std::vector<int> parents;   ///< -1: the root
  std::vector<int> top_down;  ///< all nodes, every one after its parent
};

/// Two binary trees, each for half of the data, of height ceil(log2 n): the inner nodes of one are leaves of
/// the other, but for the roots of odd numbers. In the first, the parent of a node comes from its lowest bit
/// that is set, so that every second node is a leaf; the second is its mirror image where n is even, and the
/// first shifted by one where it is odd. Source: Sanders, Speck and Traeff 2009, "Two-tree algorithms for
/// full bandwidth broadcast, reduction and scan"; NVIDIA/nccl src/graph/trees.cc.
std::array<BinaryTree, 2> double_binary_tree(int nodes);

/// The same with one root for both: it feeds the two trees over the other nodes, as in the paper.
std::array<BinaryTree, 2> double_binary_tree(int nodes, int root);

/// The tree over one rank of each node, ranks[i] of node i.
RankTree over_nodes(const BinaryTree& nodes, std::span<const Rank> ranks);

}  // namespace trainyard
