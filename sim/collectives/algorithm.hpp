#pragma once
// The algorithms for collectives, under the names that papers and NCCL use.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class Algorithm {
  automatic,
  ring,
  chain,
  tree,
  hierarchical,
  hierarchical_tree,
  torus2d,
  halving_doubling,
  recursive_doubling,
  direct
};

namespace config {

template <>
struct Names<Algorithm> {
  static constexpr std::string_view what = "algorithm";
  static constexpr std::array table{
      Name{"auto", Algorithm::automatic, "what NCCL would take for this size on these ranks"},
      Name{"ring", Algorithm::ring, "round rings over all ranks, one per channel of the ring search"},
      Name{"chain", Algorithm::chain, "along a line of ranks, in chunks, and back again"},
      Name{"tree", Algorithm::tree, "two binary trees over the nodes, chains inside them, in chunks"},
      Name{"hierarchical", Algorithm::hierarchical,
           "reduce-scatter in each node, rings between nodes, all-gather in each node"},
      Name{"hierarchical_tree", Algorithm::hierarchical_tree, "the same with trees between nodes"},
      Name{"torus2d", Algorithm::torus2d,
           "ranks in a grid: reduce-scatter by rows, all-reduce by columns, all-gather by rows"},
      Name{"halving_doubling", Algorithm::halving_doubling,
           "recursive halving of the data, then recursive doubling"},
      Name{"recursive_doubling", Algorithm::recursive_doubling,
           "whole buffers between ranks 1, 2, 4 ... apart"},
      Name{"direct", Algorithm::direct, "every rank to every other at once"}};
};

}  // namespace config
}  // namespace trainyard
