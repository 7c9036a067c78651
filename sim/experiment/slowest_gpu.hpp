#pragma once
// GPUs of one kind differ in speed, and an update that waits for all of them takes as long as on the slowest.

#include "experiment/resolved_experiment.hpp"

#include <string>

namespace trainyard {

/// Whether random.gpus is `slowest`, which is its default if updates wait for ranks, the GPUs' factors are
/// not drawn, and the job's software has factors. Throws InputError (workers.hpp).
bool waits_for_slowest(const ResolvedExperiment& resolved);

/// Kernel times of the slowest of the GPUs that an update waits for, relative to the mean GPU: 1 + the
/// expected order statistic of normal variables (order_statistics.hpp) with the variation of the GPU profile
/// as standard deviation. With k of n ranks or backups, it is that of the last rank that counts. 1 if nothing
/// waits for the slowest. Durations stated in a trace stay as they are. Throws InputError (workers.hpp), and
/// if `slowest` is stated but updates do not wait for ranks.
double slowest_gpu(const ResolvedExperiment& resolved);

/// The GPUs whose slowest decides the time of kernels, and by how much their speeds vary: a standard
/// deviation, relative to the mean time. Without variation if nothing waits for the slowest. Throws as
/// slowest_gpu().
struct WaitedGpus {
  int gpus = 1;
  double variation = 0;
};
WaitedGpus waited_gpus(const ResolvedExperiment& resolved);

/// "kernels take 2.6 % longer than on one GPU: ..."; for a factor above 1.
std::string slowest_gpu_note(const ResolvedExperiment& resolved);

}  // namespace trainyard
