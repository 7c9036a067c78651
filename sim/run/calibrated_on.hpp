#pragma once
// The end-to-end runs that a prediction rests on.

#include "experiment/resolve.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The runs on which the stack's knobs were fitted, unless the trace brings all durations and asks none.
std::vector<std::string> calibrated_on(const ResolvedExperiment& resolved);

}  // namespace trainyard
