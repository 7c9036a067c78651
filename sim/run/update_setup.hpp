#pragma once
// Setup of a run of many updates: its length, the times of each worker's steps, the load of servers on hosts.

#include "engine/training.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/resolve.hpp"
#include "run/step.hpp"
#include "schedule/server_plan.hpp"

#include <vector>

namespace trainyard {

/// Converts steps of all ranks to updates: if every update starts all ranks anew, an update is a step of all;
/// otherwise as many updates as are needed to use one gradient of each.
TrainingOptions training_options(const UpdateSettings& settings, const StepCounts& steps);

/// Steps of the workers in all repeats, each with the ops whose times are drawn and with the messages that it
/// sends and receives. `plan`: of the servers; null without.
double expected_events(const ResolvedExperiment& resolved, const UpdateSettings& settings, std::size_t ops,
                       const ServerPlan* plan);

/// Durations of the ops of a worker's step, from the steady step's result.
std::vector<Seconds> worker_ops(const Step& steady);

/// For each repeat, the times of the first `ranks` ranks, grouped into workers.
std::vector<StepTimes> step_times(const ResolvedExperiment& resolved, const Cluster& cluster, int ranks,
                                  const std::vector<Seconds>& ops, int repeats);

/// The load of a plan's servers on the busiest node with workers, averaged over its `cpus` CPUs, for each
/// step of all workers: every worker pushes and pulls once in `steps_per_push`.
HostLoad host_load(const ServerPlan& plan, int worker_nodes, int cpus, int steps_per_push);

/// Loading times for the samples of each worker's step, given the servers' load on the hosts.
LoadingTimes loading_times(const ResolvedExperiment& resolved, const Cluster& cluster, int workers,
                           const HostLoad& load);

}  // namespace trainyard
