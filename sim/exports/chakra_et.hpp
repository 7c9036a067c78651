#pragma once
// A rank's step as an execution trace of Chakra (NAME.RANK.et), for ASTRA-sim and other tools of MLCommons.

#include "run/run.hpp"

#include <string>

namespace trainyard {

/// Nodes that compute form a chain; a collective depends on the op whose end completes its data, and the
/// first op of the optimizer on all collectives. The framework's kernels around a collective (copies into and
/// out of a buffer) are nodes between these. Durations are those of kernels alone, so the reader of
/// the trace simulates concurrent communication; the host's work is left out. Throws InputError for runs
/// without one step op by op, and for operations that the schema does not have.
std::string chakra_et(const Run& run, Rank rank);

}  // namespace trainyard
