#pragma once
// The end-to-end runs on which a prediction's parameters were fitted.

#include "experiment/resolve.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The runs on which the stack's parameters were fitted; empty if the trace brings all durations and needs
/// none.
std::vector<std::string> calibrated_on(const ResolvedExperiment& resolved);

}  // namespace trainyard
