#pragma once
// A lower bound on the step of an experiment whose ranks share a model, from its ops alone: no task graph is
// made and nothing is replayed. For searches, which ask for thousands.

#include "collectives/node_times.hpp"
#include "experiment/resolve.hpp"
#include "units/quantity.hpp"

namespace trainyard {

struct StepBound {
  Seconds time;    ///< no simulation of the step is shorter
  Seconds matrix;  ///< GPUs of all ranks together: kernels of matrix units
  Seconds vector;  ///< the same: all other kernels
};

/// The largest of, over the stages of the pipeline:
/// - compute: a stage begins after the first forward passes of those before it, runs its own ops one after
///   the other, waits for the collectives that hold them up (inside a node as long as they take alone,
///   otherwise as long as collective_bound() says), and ends its step; or the stages before it run their
///   last backward passes. That is the critical path of every schedule without its bubbles in the middle
///   (Narayanan et al. 2021, arXiv 2104.04473, section 2.2);
/// - network: the collectives of gradients alone, or those that gather divided parameters.
/// `in_nodes`: of the experiment's network and library, for all layouts of a job. Requires a layout. Throws
/// as op_times().
StepBound step_bound(const ResolvedExperiment& resolved, NodeTimes& in_nodes);

}  // namespace trainyard
