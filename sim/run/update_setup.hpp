#pragma once
// How a run of many updates is set up: how long, and how long each step of each worker takes.

#include "engine/training.hpp"
#include "experiment/input_pipeline.hpp"
#include "experiment/resolve.hpp"
#include "run/step.hpp"

#include <vector>

namespace trainyard {

/// How many ranks push and pull together: all of a node where the stack adds up their gradients. Throws
/// InputError if not all nodes have as many.
int ranks_per_worker(const ResolvedExperiment& resolved);

/// What the update rule counts: ranks, or nodes. Throws as the above.
int workers_of(const ResolvedExperiment& resolved);

/// Steps of all ranks, as updates: where every update begins all of them anew it is a step of all, otherwise
/// it takes as many updates to use up a gradient of each.
TrainingOptions training_options(const UpdateSettings& settings, const StepCounts& steps);

/// Durations of the ops of a worker's step, from the steady step's result.
std::vector<Seconds> worker_ops(const Step& steady);

/// For each repeat, the times of the first `ranks` ranks, joined to workers.
std::vector<StepTimes> step_times(const ResolvedExperiment& resolved, const Cluster& cluster, int ranks,
                                  const std::vector<Seconds>& ops, int repeats);

/// What the samples of each worker's step take, beside what servers take of the hosts.
LoadingTimes loading_times(const ResolvedExperiment& resolved, const Cluster& cluster, int workers,
                           const HostLoad& load);

}  // namespace trainyard
