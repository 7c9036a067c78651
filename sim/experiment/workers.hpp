#pragma once
// The workers of a job as its update rule counts them, and whether an update waits for all of them.

#include "experiment/resolve.hpp"

namespace trainyard {

/// Number of ranks that push and pull together: all of a node if the stack sums their gradients. Throws
/// InputError if nodes have different numbers of ranks.
int ranks_per_worker(const ResolvedExperiment& resolved);

/// Number of workers as the update rule counts them: ranks, or nodes. Throws like ranks_per_worker().
int workers_of(const ResolvedExperiment& resolved);

/// Whether every update waits for all ranks, or local_sgd's averages do. Throws like ranks_per_worker().
bool waits_for_all(const ResolvedExperiment& resolved);

}  // namespace trainyard
