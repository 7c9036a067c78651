#pragma once
// GPUs of one kind differ in speed, and an update that waits for all of them takes as long as on the slowest.

#include "experiment/resolve.hpp"

#include <string>

namespace trainyard {

/// Kernel times of the slowest of the GPUs that an update waits for, relative to the mean GPU: 1 + the
/// expected maximum of as many normal variables, with the variation of the GPU profile as standard deviation.
/// 1 unless random.gpus is `slowest`, which is its default if every update waits for all GPUs, nothing is
/// random, and the job's software has factors. Durations stated in a trace stay as they are. Throws
/// InputError (workers.hpp).
double slowest_gpu(const ResolvedExperiment& resolved);

/// "kernels take 2.1 % longer than on the mean GPU: ..."; for a factor above 1.
std::string slowest_gpu_note(const ResolvedExperiment& resolved);

}  // namespace trainyard
