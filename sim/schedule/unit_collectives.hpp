#pragma once
// The collectives and copies of units whose parameters are gathered while they are used.

#include "experiment/resolved_experiment.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/layout_program.hpp"
#include "schedule/replica_collectives.hpp"

namespace trainyard {

/// Adds the units of a class of ranks, with the gathers of their parameters, the reductions of their
/// gradients and the copies around both.
void add_unit_collectives(const ResolvedExperiment& resolved, const RankClass& one,
                          ReplicaCollectives& replicas, LayoutCollectives& collectives,
                          StageCollectives& made);

}  // namespace trainyard
