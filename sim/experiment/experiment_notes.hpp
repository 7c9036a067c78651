#pragma once
// Notes of a resolved experiment for the reader of its results: choices that determine the numbers besides
// the keys that the user wrote.

#include "experiment/resolved_experiment.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// All notes that depend on the platform, the stack and the ranks. Requires a cluster and complete traces.
/// `bypasses_gpu_links`: the stack copies through host memory instead of using links between GPUs that the
/// platform has.
std::vector<std::string> experiment_notes(const ResolvedExperiment& resolved, bool bypasses_gpu_links);

}  // namespace trainyard
