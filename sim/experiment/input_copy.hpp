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

/// The time for `each` bytes per GPU, in either direction.
Seconds host_copy_time(const Cluster& cluster, Bytes each, int gpus);

/// Bytes of one GPU's samples of a step, if its stack makes steps wait for copies of them; otherwise 0.
Bytes copied_input(const ResolvedExperiment& resolved);

/// "every step waits 411 ms for copies of its samples ..."; for a time above 0.
std::string input_copy_note(const ResolvedExperiment& resolved, Seconds time);

}  // namespace trainyard
