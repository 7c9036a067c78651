#pragma once
// From an experiment's inputs to its Result: plans the step, runs the engine, checks what must hold and
// gathers what the reports need.

#include "engine/engine.hpp"
#include "experiment/setup.hpp"
#include "platform/cluster.hpp"
#include "run/result.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace trainyard {

struct SimulateOptions {
  std::optional<Fidelity> fidelity = {};  ///< in place of the experiment's
  bool fold = true;
  /// Whether the result has a timeline, and its ops and collectives say when they ran. Without it everything
  /// else is the same.
  bool timeline = true;
  /// Further ranks whose every op is recorded; where given the result of a steady step keeps its Replay.
  std::function<std::vector<Rank>(const TaskGraph&, Fidelity)> recorded = {};
};

/// Runs the experiment behind `inputs`. Throws OutOfMemory if the step does not fit into its GPUs'
/// memory, before anything runs; EngineError if a check of the result fails (checks.hpp).
Result simulate(const Inputs& inputs, const SimulateOptions& options);

/// One steady step, in which all ranks wait for all: simulate() of an experiment that asks for no more.
Result simulate_step(const Inputs& inputs, const SimulateOptions& options);

}  // namespace trainyard
