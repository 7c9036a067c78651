#pragma once
// Tables of which only the looked-up rows have gradients (Layer::sparse_elements), in experiments with
// several ranks.

#include "experiment/resolved_experiment.hpp"
#include "strategy/grid.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

/// Throws InputError if several ranks hold a copy of a table with sparse gradients: their rows differ, so
/// that an all-reduce cannot sum them, and gathering rows and indices is not modelled. `layers`: those of a
/// rank. Source: PyTorch, torch/nn/parallel/distributed.py and ProcessGroupNCCL (sparse tensors are refused).
void require_reducible_gradients(const std::vector<Layer>& layers, const Grid& grid);

/// Checks all ranks of an experiment, which has a cluster; does nothing without a model.
void check_sparse_gradients(const ResolvedExperiment& resolved);

}  // namespace trainyard
