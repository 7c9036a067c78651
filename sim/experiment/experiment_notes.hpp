#pragma once
// Notes of a resolved experiment for the reader of its results: what determines the numbers besides the keys
// that the user wrote.

#include "experiment/resolve.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Of a replay: which keys of the experiment its trace determines.
std::vector<std::string> replay_notes(const Trace& trace, const Stack& stack, int ranks);

/// Of a stack whose GPUs exchange data through the memory of the host.
std::string staging_note(const Stack& stack);

/// The profile from which the figures of a short GPU profile are scaled.
std::vector<std::string> profile_notes(const ResolvedExperiment& resolved);

/// Of hypothetical hardware (speed factors other than 1, other numbers of lanes).
std::vector<std::string> speed_notes(const ResolvedExperiment& resolved);

/// Kernels of a step that cannot run beside its collectives; empty if there are none.
std::vector<std::string> persistent_notes(const ResolvedExperiment& resolved);

}  // namespace trainyard
