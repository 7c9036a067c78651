#pragma once
// Trace + stack + cluster -> task graph of one data-parallel training step: the one place where the parts
// meet.

#include "collectives/planner.hpp"
#include "compute/op_time.hpp"
#include "experiment/experiment.hpp"
#include "platform/cluster.hpp"
#include "schedule/task_graph.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// What a collective of the plan is for.
struct PlannedCollective {
  std::string name;     ///< "bucket 0", "parameters 0"
  std::string purpose;  ///< what is sent: "gradients", "parameters", "buckets" of a trace
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;
  int tensors = 0;
  int ready_op = -1;   ///< index in the trace: complete when it ends; -1: at the step's beginning
  std::string held;    ///< what the host does before: "cycle", "negotiation"
  std::string before;  ///< what kernels on the communication stream do before it
  std::string after;   ///< and behind it
  Seconds bound;       ///< no algorithm on this network is faster
};

struct StepPlan {
  TaskGraph graph;
  std::vector<OpTime> op_times;                ///< of each op of the trace, software overhead included
  std::vector<PlannedCollective> collectives;  ///< of each collective of the graph
  int channels = 0;                            ///< the most that a collective has
  std::vector<std::string> notes;              ///< what a reader of the result should know
};

/// Plans one step: compute ops in trace order on the compute stream; collectives in bucket order on the
/// communication stream, each once its gradients are complete; optimizer ops after the last collective, of
/// dataparallel_gpu0 on the first rank alone. The trace's own communication is used if it names any, else
/// what launches.hpp says. `costs`: what the stack's communication library adds to the wire. Throws
/// InputError (an algorithm or precision that cannot be, dataparallel_gpu0 on several nodes) or
/// Unreachable.
StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   const Sync& sync, const Costs& costs);

/// The same for some ranks of the cluster (ascending); the others have an empty program, the last.
StepPlan plan_step(const Trace& trace, const GpuProfile& gpu, const Stack& stack, const Cluster& cluster,
                   std::span<const Rank> ranks, const Sync& sync, const Costs& costs);

/// The capacities of all links of a cluster, by LinkId.
std::vector<Bandwidth> capacities(const Cluster& cluster);

/// The same step with every collective as fast as its bound and no kernel slowed by another: what the ideal
/// engine takes is a lower bound.
TaskGraph ideal(const StepPlan& plan);

/// The same graph in which nothing slows kernels down.
TaskGraph undisturbed(TaskGraph graph);

/// The same step with every collective over as soon as it starts: what is left is the compute and the
/// framework. Both graphs are without patterns and links.
TaskGraph without_network(const StepPlan& plan);

}  // namespace trainyard
