#pragma once
// The key sync.grid: columns and rows of the grid on which torus2d sums gradients.

#include "experiment/resolved_experiment.hpp"

namespace trainyard {

/// Throws InputError unless the grid has a place for each rank of every group that sums gradients: all
/// replicas, those of experts and of divided layers, and where replicas divide their state inside nodes, one
/// of each node. Also for a single rank, which launches no collective. The groups of several traces are not
/// known yet.
void require_torus_grid(const ResolvedExperiment& resolved);

}  // namespace trainyard
