#pragma once
// Runs of many updates: parameter servers, asynchronous update rules, random times. A steady step gives the
// time and the needs of one rank's step; the engine's training lets many of them interact.

#include "run/simulate.hpp"

namespace trainyard {

/// The Run of an experiment for which is_multi_update() holds.
Run simulate_updates(ResolvedExperiment resolved, const SimulateOptions& options);

}  // namespace trainyard
