#pragma once
// The number of events that a replay of a task graph on a network will simulate, counted before it begins.

#include "experiment/fidelity.hpp"
#include "schedule/task_graph.hpp"

namespace trainyard::engine {

/// Messages of the collectives of one round of every job in fidelity `messages`, rounds in `rounds`, the
/// flows of joined rounds in `flow`, and nothing in `closed`.
double expected_events(const TaskGraph& graph, Fidelity fidelity);

}  // namespace trainyard::engine
