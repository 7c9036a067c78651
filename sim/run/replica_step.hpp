#pragma once
// The step of replicas whose ranks share a model, without the servers that update it: all of them at once,
// each with the collectives and messages among its own ranks.

#include "experiment/resolve.hpp"
#include "run/run.hpp"
#include "run/simulate.hpp"
#include "schedule/server_plan.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct ReplicaStep {
  Seconds time;
  /// When the ops of a class of ranks run: the first time, and the end of the last time.
  struct ClassDates {
    std::vector<Seconds> starts, ends;  ///< by op
  };
  std::vector<ClassDates> classes;  ///< in the order of the experiment's
  std::vector<double> link_bytes;   ///< by LinkId of the experiment's cluster
};

/// Such a step. Servers run the optimizer; nothing is random.
Run run_of_replicas(const ResolvedExperiment& resolved, const SimulateOptions& options);

/// Its dates in the fidelity of `options`. `run`: of run_of_replicas(), which has them unless the fidelity is
/// `messages`: then SimGrid simulates the step in a child process, since in this one it will simulate the
/// messages to the servers.
ReplicaStep replica_step(const ResolvedExperiment& resolved, const SimulateOptions& options, const Run& run);

/// expected_messages() of such a step.
double messages_of_replicas(const ResolvedExperiment& resolved, double most_at_once);

/// By link of `cluster`, which has the nodes of the experiment's and perhaps those of servers: bytes that the
/// replicas' own messages carry in a step.
std::vector<double> replica_bytes(const ReplicaStep& step, const Cluster& of_step, const Cluster& cluster);

/// To how much the part of the time is known in which replicas send.
constexpr double busy_tolerance = 1e-3;

/// Leaves to the messages of servers the part of each link that the replicas' own messages, of
/// replica_bytes(), leave on average: ranks wait for these, and not for those. `busy`: the part of the time
/// in which replicas send.
void share_links(const ReplicaStep& step, const std::vector<double>& bytes, double busy, ServerPlan& plan);

}  // namespace trainyard
