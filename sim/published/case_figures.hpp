#pragma once
// Figures of a case's experiment that need no fit: its memory, and the units of stated speeds.

#include "accuracy/error_bounds.hpp"
#include "published/predict_cases.hpp"

#include <optional>

namespace trainyard {

/// Memory of the rank that needs the most.
CaseMemory memory_of(const ResolvedExperiment& experiment);

/// Bytes; for a verdict 1 if the case fits, otherwise 0.
double figure_of(const CaseMemory& memory, CaseFigure figure);

/// A stated speed in samples per second of all GPUs. Throws InputError if the experiment lacks its unit.
double samples_per_second(StatedSpeed stated, double speed, const ResolvedExperiment& experiment);

/// The only collective of a step. Throws InputError if a step has another number of them.
const OpCommunication& only_collective(const ResolvedExperiment& experiment);

/// The bounds that `collective` prints. Empty if no errors are shipped, or for libraries of hosts.
std::optional<ErrorBounds> bandwidth_bounds(const config::Catalogue& catalogue,
                                            const ResolvedExperiment& experiment);

}  // namespace trainyard
