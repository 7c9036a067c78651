#pragma once
// The trace of an experiment's simulated step: the output of `trainyard trace`.

#include "experiment/resolve.hpp"

namespace trainyard {

/// The step's trace with each op's communication (of kind all_reduce, on stacks without fusion) and, if
/// requested, its duration on a GPU of mean speed and its source, and the memory of a rank. Replaying it in
/// place of the model gives exactly the same step time, on any number of GPUs.
Trace export_trace(const ResolvedExperiment& resolved, bool with_durations);

}  // namespace trainyard
