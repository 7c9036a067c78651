#pragma once
// The part of a sweep's page about what its points have learnt.

#include "document/html.hpp"
#include "sweep/sweep_result.hpp"

namespace trainyard {

/// The final loss against the time of an update, and against the time to the target if there is one, with the
/// points on each front marked, and these as a table. Empty for sweeps that do not learn.
Html learning_plots(const SweepResult& result);

}  // namespace trainyard
