#pragma once
// Runs that are many updates long: parameter servers, update rules that do not wait for all, times that are
// random. What one rank's step takes and needs comes from simulate_step(); what many of them make of each
// other from the engine's training.

#include "run/simulate.hpp"

namespace trainyard {

/// The Result of an experiment of which is_training(). Fields that only a steady step has are null, with
/// their reasons.
Result simulate_training(const Inputs& inputs, const SimulateOptions& options);

}  // namespace trainyard
