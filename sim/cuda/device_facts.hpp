#pragma once
// What the recording says about the GPU and the libraries it was measured with.

#include "recording.hpp"

#include <vector>

namespace trainyard::cuda {

/// The facts of the current GPU, in the order of README.md's table; what cannot be read is left out. `date`
/// is today's in UTC. Throws CudaError if the GPU does not answer.
std::vector<Fact> device_facts();

}  // namespace trainyard::cuda
