#pragma once
// The rows of a replayed step: its ops, its collectives, and the activities of the recorded ranks.

#include "experiment/resolve.hpp"
#include "run/step.hpp"

namespace trainyard {

/// Number of ranks for which every op goes into the timeline: those of the first nodes, few enough to look
/// at.
inline constexpr int most_recorded = 16;

/// Fills in the ops of `classes`, `collectives` and `bars` of a step from its plan and timeline.
void add_rows(const ResolvedExperiment& resolved, Step& step);

}  // namespace trainyard
