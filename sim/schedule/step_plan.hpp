#pragma once
// Trace + stack + cluster -> task graph of one data-parallel training step: the one place where these are
// combined.

#include "collectives/library.hpp"
#include "compute/op_time.hpp"
#include "experiment/experiment.hpp"
#include "platform/cluster.hpp"
#include "schedule/task_graph.hpp"
#include "strategy/grid.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct StepPlan {
  TaskGraph graph;
  /// By class of ranks (strategy/rank_class.hpp): times of its trace's ops, including software overhead.
  std::vector<std::vector<OpTime>> op_times;
  Seconds host_sums;               ///< for which a core of each node sums gradients (host_reduction.hpp)
  int channels = 0;                ///< largest number of channels of a collective
  std::vector<std::string> notes;  ///< for the reader of the result
};

/// Plans one step: compute ops in trace order on the compute stream; collectives in bucket order on the
/// communication stream, each once its gradients are complete; optimizer ops after the last collective, for
/// dataparallel_gpu0 only on the first rank. The trace's own communication is used if it names any, else that
/// of launches.hpp. `library`: the communication library of the stack. Throws InputError
/// (an impossible algorithm or precision, dataparallel_gpu0 on several nodes) or Unreachable.
StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   const Sync& sync, const CollectiveSoftware& library);

/// Plans a step of some ranks of the cluster (ascending); all others have the last program, which is empty.
/// `grid`: the groups of the ranks, which are then all of the cluster's, for the collectives that a trace
/// launches within groups; without it all ranks are replicas. Throws InputError for a trace with groups and
/// no grid.
StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   std::span<const Rank> ranks, const Sync& sync, const CollectiveSoftware& library,
                   const Grid* grid = nullptr);

/// The capacities of all links of a cluster, by LinkId.
std::vector<Bandwidth> capacities(const Cluster& cluster);

}  // namespace trainyard
