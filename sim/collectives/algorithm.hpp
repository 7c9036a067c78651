#pragma once
// The algorithms for collectives, under the names that papers and NCCL use, and the setting of one of them.

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
  binomial,
  scatter_allgather,
  nvls,
  direct
};

/// The grid of torus2d: rank i of a group is in column i % columns of row i / columns.
struct TorusGrid {
  int columns = 0;
  int rows = 0;
  friend bool operator==(const TorusGrid&, const TorusGrid&) = default;
};

namespace config {

template <>
struct Keys<TorusGrid> {
  static constexpr std::array<std::string_view, 2> short_form{"columns", "rows"};
  static auto table() {
    return keys(required("columns", &TorusGrid::columns, "ranks of a row").between(2, 1e7),
                required("rows", &TorusGrid::rows, "ranks of a column").between(2, 1e7));
  }
};

template <>
struct Names<Algorithm> {
  static constexpr std::string_view what = "algorithm";
  static constexpr std::array table{
      Name{"auto", Algorithm::automatic, "NCCL's choice for this size and these ranks"},
      Name{"ring", Algorithm::ring, "rings over all ranks, one per channel"},
      Name{"chain", Algorithm::chain, "a line of ranks; chunks travel along it and back"},
      Name{"tree", Algorithm::tree, "two binary trees over the nodes, chains inside nodes, in chunks"},
      Name{"hierarchical", Algorithm::hierarchical,
           "reduce-scatter in each node, rings between nodes, all-gather in each node"},
      Name{"hierarchical_tree", Algorithm::hierarchical_tree,
           "reduce-scatter in each node, trees between nodes, all-gather in each node"},
      Name{"torus2d", Algorithm::torus2d,
           "ranks in a grid: reduce-scatter by rows, all-reduce by columns, all-gather by rows"},
      Name{"halving_doubling", Algorithm::halving_doubling,
           "recursive halving of the data, then recursive doubling"},
      Name{"recursive_doubling", Algorithm::recursive_doubling,
           "ranks 1, 2, 4 ... apart exchange whole buffers"},
      Name{"binomial", Algorithm::binomial, "a tree of ranks 1, 2, 4 ... apart; whole buffers"},
      Name{"scatter_allgather", Algorithm::scatter_allgather,
           "the root scatters parts along a binomial tree, and a ring gathers them"},
      Name{"nvls", Algorithm::nvls, "NVSwitches add; some ranks write the sums to all"},
      Name{"direct", Algorithm::direct, "every rank sends to every other at once"}};
};

}  // namespace config
}  // namespace trainyard
