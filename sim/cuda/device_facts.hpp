#pragma once
// The recording's facts about the GPU and the libraries used.

#include "recording.hpp"

#include <vector>

namespace trainyard::cuda {

/// The facts of the current GPU, in the order of README.md's table, without those that cannot be read. `date`
/// is today's in UTC. Throws CudaError if the GPU does not answer.
std::vector<Fact> device_facts();

}  // namespace trainyard::cuda
