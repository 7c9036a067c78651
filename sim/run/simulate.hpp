#pragma once
// From a resolved experiment to its Run: plans the step, runs the engine, checks what must hold.

#include "engine/engine.hpp"
#include "experiment/resolve.hpp"
#include "run/run.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace trainyard {

struct SimulateOptions {
  std::optional<Fidelity> fidelity = {};  ///< in place of the experiment's
  bool fold = true;
  /// Whether the run has a timeline, and its ops and collectives say when they ran. Without it everything
  /// else is the same.
  bool timeline = true;
  /// Further ranks of a steady step whose every op is recorded in its Timeline.
  std::function<std::vector<Rank>(const TaskGraph&, Fidelity)> recorded = {};
};

/// Runs the experiment. Throws OutOfMemory if the step does not fit into its GPUs' memory, before anything
/// runs; EngineError if a check of the result fails (checks.hpp).
Run simulate(ResolvedExperiment resolved, const SimulateOptions& options);

/// One steady step, in which all ranks wait for all: simulate() of an experiment that asks for no more.
Run simulate_step(ResolvedExperiment resolved, const SimulateOptions& options);

}  // namespace trainyard
