#pragma once
// The rows of a replayed step: its ops, its collectives, and what the recorded ranks did when.

#include "run/step.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// Ranks whose every op goes into the timeline: those of the first nodes, as many as a person can look at.
inline constexpr int most_recorded = 16;

/// Fills in `ops`, `collectives` and `bars` of a step from its plan and timeline.
void add_rows(const Trace& trace, Step& step);

}  // namespace trainyard
