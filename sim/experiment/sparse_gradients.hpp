#pragma once
// Tables of which only the looked-up rows have gradients (Layer::sparse_elements), in experiments with
// several ranks.

#include "experiment/resolved_experiment.hpp"

namespace trainyard {

/// Throws InputError if several ranks hold a copy of a table with sparse gradients: their rows differ, so
/// that an all-reduce cannot sum them, and gathering rows and indices is not modelled. Nothing without a
/// model. Requires a cluster. Source: PyTorch, torch/nn/parallel/distributed.py and ProcessGroupNCCL (sparse
/// tensors are refused).
void check_sparse_gradients(const ResolvedExperiment& resolved);

}  // namespace trainyard
