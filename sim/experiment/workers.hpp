#pragma once
// The workers of a job as its update rule counts them, and how many of them an update waits for.

#include "experiment/resolved_experiment.hpp"

namespace trainyard {

/// Number of ranks that push and pull together: all of a replica if they share the model, all of a node if
/// the stack sums their gradients. Throws InputError if nodes have different numbers of ranks.
int ranks_per_worker(const ResolvedExperiment& resolved);

/// Number of workers as the update rule counts them: ranks, replicas, or nodes. Throws like
/// ranks_per_worker().
int workers_of(const ResolvedExperiment& resolved);

/// Number of workers whose gradients (for local_sgd, parameters) an update waits for; 0 if it waits for none
/// in particular. Throws like ranks_per_worker().
int waited_for(const ResolvedExperiment& resolved);

}  // namespace trainyard
