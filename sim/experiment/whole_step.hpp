#pragma once
// Completes the traces of one micro-batch to those of a whole step.

#include "experiment/resolved_experiment.hpp"

namespace trainyard {

/// Adds the further micro-batches that a trace lacks and, to that of a model, the stack's work that is the
/// same for any number of ranks. Nothing for a layout, which has both. Throws as expect()
/// (limits/run_limits.hpp) before it lists more ops than the user allows.
void complete_step(ResolvedExperiment& resolved);

/// Adds the work that depends on the ranks and their nodes: overhead, copies of samples to the GPUs, and the
/// time that launches take longer on a host that ranks share (node_host.hpp). In a
/// replay it gives these ops their times for its ranks and stack, if the trace states none; one rank has no
/// such ops. Requires a cluster.
void add_work_of_ranks(ResolvedExperiment& resolved);

}  // namespace trainyard
