#pragma once
// Copies of a step's samples from a node's host memory to its GPUs, for stacks that do not hide them
// (input_copy): the GPUs of a node share its links.

#include "experiment/resolved_experiment.hpp"

#include <string>

namespace trainyard {

/// Time until all of the first `gpus` GPUs of the first node have their samples of a step, which lie in the
/// memory of its first CPU: the bytes over the most loaded link, and the longest latency. Nothing hides it.
/// 0 without `input_copy`, for a trace, and on a node whose GPUs reach no CPU.
Seconds input_copy_time(const ResolvedExperiment& resolved, int gpus);

/// "every step waits 411 ms for copies of its samples ..."; for a time above 0.
std::string input_copy_note(const ResolvedExperiment& resolved, Seconds time);

}  // namespace trainyard
