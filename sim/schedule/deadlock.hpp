#pragma once
// Programs that would wait for each other for ever, however long their tasks take.

#include "schedule/task_graph.hpp"

#include <vector>

namespace trainyard {

/// A stream of a program that waits in a collective for others.
struct StuckJoin {
  int program = -1;
  int collective = -1;
  int missing = -1;  ///< a program that takes part in it and never arrives
};

/// Runs the programs that ranks run as far as they get, without times. Collectives are met once in a step by
/// each of their programs. Empty if all of them end; otherwise at least one join, in the order of the
/// programs. Segments are not looked into.
std::vector<StuckJoin> stuck_joins(const TaskGraph& graph);

}  // namespace trainyard
