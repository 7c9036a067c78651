#pragma once
// Groups of ranks that could lie within nodes, but straddle them because the number of ranks per node is no
// multiple of theirs: 64 experts' ranks on racks of 72 GPUs.

#include "config/diagnostic.hpp"
#include "strategy/grid.hpp"

#include <optional>

namespace trainyard {

/// A warning that names the groups and the largest number of ranks per node that keeps them whole; empty if
/// none straddles nodes that it could avoid.
std::optional<Diagnostic> straddling_warning(const Grid& grid, int ranks_per_node);

}  // namespace trainyard
