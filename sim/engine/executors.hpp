#pragma once
// The ways to carry out a collective, one per fidelity: by formula, by macro rounds, message by message.

#include "engine/replay.hpp"

#include <memory>
#include <vector>

namespace trainyard::engine {

/// Fidelity::closed: without SimGrid, every collective alone on the network.
Timeline run_closed(const TaskGraph& graph, const EngineOptions& options);

/// Fidelity::flow and Fidelity::rounds: a round is one flow over the union of its edges' links.
Timeline run_macro(const TaskGraph& graph, const EngineOptions& options);

/// Fidelity::messages: one flow per message.
Timeline run_steps(const TaskGraph& graph, const EngineOptions& options);

}  // namespace trainyard::engine
