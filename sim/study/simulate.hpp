#pragma once
// From an experiment's inputs to its Result: plans the step, runs the engine, checks what must hold and
// gathers what the reports need.

#include "engine/engine.hpp"
#include "platform/cluster.hpp"
#include "study/result.hpp"
#include "study/setup.hpp"

#include <optional>

namespace trainyard {

struct SimulateOptions {
  std::optional<Fidelity> fidelity = {};  ///< in place of the experiment's
  bool fold = true;
  /// Whether the result has a timeline, and its ops and collectives say when they ran. Without it everything
  /// else is the same.
  bool timeline = true;
  /// Whether the result of a steady step has an Explanation.
  bool explain = false;
};

/// Runs the experiment behind `inputs`. Throws OutOfMemory if the step does not fit into its GPUs'
/// memory, before anything runs; EngineError if a check of the result fails (checks.hpp).
Result simulate(const Inputs& inputs, const SimulateOptions& options);

/// One steady step, in which all ranks wait for all: simulate() of an experiment that asks for no more.
Result simulate_step(const Inputs& inputs, const SimulateOptions& options);

}  // namespace trainyard
