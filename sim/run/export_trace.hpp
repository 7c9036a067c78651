#pragma once
// The trace of an experiment's step as it ran: what `trainyard trace` writes.

#include "experiment/resolve.hpp"

namespace trainyard {

/// The step's trace with each op's communication (of kind all_reduce) and, if asked for, its duration and
/// source. Replaying it in place of the model gives the same step time to the bit.
Trace export_trace(const ResolvedExperiment& resolved, bool with_durations);

}  // namespace trainyard
