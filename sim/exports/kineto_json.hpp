#pragma once
// A rank's simulated steps in the form of torch.profiler's JSON (Kineto), which Holistic Trace Analysis,
// Perfetto and `trainyard import kineto` read. docs/export.md says what is the simulation's and what is
// filled in.

#include "run/run.hpp"

#include <string>

namespace trainyard {

/// `steps` times the same step, one behind the other: HTA leaves out the last. Throws InputError as
/// rank_step(), and for steps too short for a profile.
std::string kineto_json(const Run& run, Rank rank, int steps);

}  // namespace trainyard
