#pragma once
// Refusals and warnings about a layout of ranks that need neither the model nor the machine. Those about the
// model are with its cut (stages.hpp) and its division (shard.hpp).

#include "config/diagnostic.hpp"
#include "strategy/grid.hpp"

#include <vector>

namespace trainyard {

/// What makes a layout impossible, each at its key ("parallelism.pipeline"); empty if nothing does.
/// `micro_batches`: those of a step, the experiment's key 'accumulation'.
std::vector<Diagnostic> layout_errors(const Parallelism& parallelism, int ranks, int micro_batches);

/// What makes a possible layout slow: tensor groups that span nodes, and fewer than four micro-batches per
/// stage without virtual stages.
std::vector<Diagnostic> layout_warnings(const Parallelism& parallelism, const Grid& grid, int ranks_per_node,
                                        int micro_batches);

}  // namespace trainyard
