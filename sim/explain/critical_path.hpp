#pragma once
// What really held up what in a replayed step: walks back from its end, at each moment to the task that ended
// last among those that the next one waited for. From the task graph and its timeline alone.

#include "engine/engine.hpp"
#include "schedule/task_graph.hpp"
#include "units/quantity.hpp"

#include <vector>

namespace trainyard {

/// A task that held up the step, from when nothing else did until it ended.
struct PathPiece {
  Rank rank{};
  Stream stream{};
  int task = -1;  ///< index in the rank's program and stream: a Compute or a Join
  Seconds start;
  Seconds end;
};

/// The ranks whose spans a walk needs: one for each program of job 0, or all of them where ranks that run the
/// same program may be at different dates (fidelity `steps`).
std::vector<Rank> ranks_on_paths(const TaskGraph& graph, Fidelity fidelity);

/// The pieces in order of time, those without length left out; they reach from 0 to the end of the last
/// recorded task without a gap. A task waits for the one before it on its stream and for events; a collective
/// for the last rank to arrive, where the path goes on. `timeline` has the spans of ranks_on_paths(). Throws
/// EngineError where a task began later than anything it waited for ended.
std::vector<PathPiece> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace trainyard
