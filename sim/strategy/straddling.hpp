#pragma once
// Groups of ranks that could lie within nodes, but straddle them because the number of ranks per node is no
// multiple of theirs: 64 experts' ranks on racks of 72 GPUs.

#include "config/diagnostic.hpp"
#include "strategy/grid.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The largest number of ranks per node, a divisor of all ranks, with which groups lie within nodes that
/// straddle nodes of `ranks_per_node`; empty if none does that it could avoid.
std::optional<int> ranks_per_node_of_whole_groups(const Grid& grid, int ranks_per_node);

/// "3 of 4 expert groups of 64 ranks"; empty if ranks_per_node_of_whole_groups() is.
std::string straddling_in_words(const Grid& grid, int ranks_per_node);

/// A warning that names the groups and the largest number of ranks per node that keeps them whole; empty if
/// none straddles nodes that it could avoid.
std::optional<Diagnostic> straddling_warning(const Grid& grid, int ranks_per_node);

}  // namespace trainyard
