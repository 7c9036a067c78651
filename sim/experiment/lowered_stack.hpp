#pragma once
// Which jobs a stack with a lowering runs, and how: a class of ranks becomes kernels that a host launches.

#include "experiment/resolved_experiment.hpp"
#include "lowering/lower.hpp"

namespace trainyard {

/// Throws InputError if the lowering has no rules for the experiment's optimizer.
void require_lowered_update(const ResolvedExperiment& resolved);

/// Throws InputError, at a key of the layout, if ranks cannot share a model in this way. Replicas that only
/// recompute their blocks need no layout: it is taken out of the settings.
void check_lowered_layout(ResolvedExperiment& resolved);

/// How a stack with a lowering runs a micro-batch of `batch` samples of a whole model.
LoweredStep lowered_step(const Stack& stack, int batch, Precision precision, Optimizer optimizer,
                         double host_times);

/// The launches of the ops that a rank runs in a step.
struct StepLaunches {
  int kernels = 0;
  Seconds host;  ///< time that the host needs, also between steps
};

StepLaunches launches_of_step(const ResolvedExperiment& resolved, const RankClass& one);

}  // namespace trainyard
