#pragma once
// The cause of each delay in a replayed step: walks back from its end, at each moment to the prerequisite
// that ended last. Uses only the task graph and its timeline.

#include "engine/engine.hpp"
#include "schedule/task_graph.hpp"
#include "units/quantity.hpp"

#include <vector>

namespace trainyard {

/// A task that delayed the step, from the moment when nothing else did until its end.
struct PathPiece {
  Rank rank{};
  Stream stream{};
  int task = -1;  ///< index in the rank's program and stream: a Compute, a Join or a RunSegment
  Seconds start;
  Seconds end;
};

/// The ranks whose spans a walk needs: one for each program of job 0, or all if ranks that run the same
/// program may be at different dates (fidelity `steps`).
std::vector<Rank> ranks_on_paths(const TaskGraph& graph, Fidelity fidelity);

/// The pieces in order of time, without those of zero length; they reach from 0 to the end of the last
/// recorded task without a gap. A task waits for the previous one on its stream and for events; a collective
/// waits for the last rank to arrive in this round, where the path continues. `timeline` has the spans of
/// ranks_on_paths(). Throws EngineError if a task began later than all its prerequisites ended.
std::vector<PathPiece> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace trainyard
