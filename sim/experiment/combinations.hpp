#pragma once
// The combinations of an experiment's keys that have no meaning or are not simulated, one row each.

#include "config/problems.hpp"
#include "experiment/experiment.hpp"

namespace trainyard {

/// Reports each at its key.
void check_combinations(const Experiment& experiment, config::Problems& problems);

}  // namespace trainyard
