#pragma once
// Refusals and warnings about a layout of ranks that need neither the model nor the machine. Refusals that
// need the model are with its cut (stages.hpp) and its division (shard.hpp).

#include "config/diagnostic.hpp"
#include "strategy/grid.hpp"

#include <vector>

namespace trainyard {

/// The reasons why a layout is impossible, each at its key ("parallelism.pipeline"); empty if there are none.
/// `micro_batches`: of a step, the experiment's key 'accumulation'.
std::vector<Diagnostic> layout_errors(const Parallelism& parallelism, int ranks, int micro_batches);

/// Warnings about slow layouts: tensor groups that span nodes, and fewer than four micro-batches per stage
/// without virtual stages.
std::vector<Diagnostic> layout_warnings(const Parallelism& parallelism, const Grid& grid, int ranks_per_node,
                                        int micro_batches);

}  // namespace trainyard
