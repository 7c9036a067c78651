#pragma once
// Two-dimensional torus: the ranks in a grid of rows and columns. All-reduce is reduce-scatter along the
// rows, all-reduce of each rank's remaining data along the columns, all-gather along the rows; every line has
// two rings in opposite directions, each with half of the data.

#include "collectives/plan.hpp"

#include <optional>

namespace trainyard {

/// The grid of a group if none is requested: that of a 2-D torus fabric if the group fills all its places
/// with equally many ranks (ranks of a node are then neighbours along x); otherwise the pair of divisors
/// nearest to a square, with the longer side as the row, among those whose rows are whole multiples of a
/// node's ranks if there are any. Empty for prime numbers and for fewer than 4 ranks.
std::optional<TorusGrid> torus_grid(const Cluster& cluster, std::span<const Rank> group);

/// Operations: all_reduce, reduce_scatter (rows, then columns) and all_gather (columns, then rows). Throws
/// InputError for others, if there is no grid and if the requested one has other than one place per rank,
/// Unreachable if some ranks cannot reach each other.
CollectivePlan torus2d(const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request);

}  // namespace trainyard
