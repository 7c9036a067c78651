#pragma once
// Runs of many updates: parameter servers, update rules that do not wait for all, random times. A steady step
// says how long one rank's step takes and what it needs; the engine's training makes many of them interact.

#include "run/simulate.hpp"

namespace trainyard {

/// The Run of an experiment of which is_multi_update().
Run simulate_updates(ResolvedExperiment resolved, const SimulateOptions& options);

}  // namespace trainyard
