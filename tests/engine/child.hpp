#pragma once
// Runs the engine in a child process: SimGrid allows one simulation per process.

#include "engine/engine.hpp"

namespace trainyard::testing {

/// run(graph, options) in a child, on the network even where collectives have a closed form. Throws the
/// exception of the child's engine: EngineError, InputError (its first message) or JobImpossible.
Timeline run_in_child(const TaskGraph& graph, const EngineOptions& options);

/// The same as the options say, with closed forms where they hold.
Timeline run_as_asked(const TaskGraph& graph, const EngineOptions& options);

}  // namespace trainyard::testing
