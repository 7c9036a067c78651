#pragma once
// The collectives of a step whose ranks share a model: those of its layers, the reduction of gradients and
// the gathering of parameters among replicas, and the messages between stages.

#include "experiment/resolved_experiment.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/layout_program.hpp"

#include <vector>

namespace trainyard {

/// Adds them to `collectives`; one entry for each class of ranks. Throws InputError (an impossible algorithm
/// or precision) or Unreachable.
std::vector<StageCollectives> stage_collectives(const ResolvedExperiment& resolved,
                                                LayoutCollectives& collectives);

}  // namespace trainyard
