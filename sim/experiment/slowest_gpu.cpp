#include "experiment/slowest_gpu.hpp"

#include "experiment/workers.hpp"
#include "random/order_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {
namespace {

double variation_of(const GpuProfile& gpu) {
  if (!gpu.variation) return 0;
  const double between_gpus = gpu.variation->gpu ? gpu.variation->gpu->value : 0;
  const double between_steps = gpu.variation->step ? gpu.variation->step->value : 0;
  return std::hypot(between_gpus, between_steps);
}

}  // namespace

bool waits_for_slowest(const ResolvedExperiment& resolved) {
  const Randomness& random = resolved.settings.random;
  if (random.gpus) return *random.gpus == GpuSpread::slowest;
  return !random.gpu && !resolved.stack.slowdown.source.empty() && waited_for(resolved) > 0;
}

double slowest_gpu(const ResolvedExperiment& resolved) {
  if (!waits_for_slowest(resolved)) return 1;
  const int workers = waited_for(resolved);
  if (workers == 0) {
    throw InputError("no update waits for a number of GPUs, so that the slowest of them does not matter",
                     "gpus: profile, or leave it out");
  }
  const int gpus = resolved.cluster->ranks();
  return 1 + random::expected_order_statistic(std::min(gpus, workers * ranks_per_worker(resolved)), gpus,
                                              variation_of(resolved.gpu));
}

WaitedGpus waited_gpus(const ResolvedExperiment& resolved) {
  const int gpus = std::max(1, waited_for(resolved) * ranks_per_worker(resolved));
  return {.gpus = gpus, .variation = waits_for_slowest(resolved) ? variation_of(resolved.gpu) : 0};
}

std::string slowest_gpu_note(const ResolvedExperiment& resolved) {
  const GpuVariation& variation = resolved.gpu.variation.value();
  const bool is_assumed = variation.gpu && variation.gpu->is_assumed();
  const int gpus = resolved.cluster->ranks();
  const int waited = waited_for(resolved) * ranks_per_worker(resolved);
  const std::string which = waited < gpus ? fmt::format("the last of {} of {} GPUs", waited, gpus)
                                          : fmt::format("the slowest of {} GPUs", gpus);
  return fmt::format(
      "kernels take {:.1f} % longer than on one GPU: a step waits for {}, which vary by {:.3g} %{}",
      100 * (resolved.stack.slowest_gpu - 1), which, 100 * variation_of(resolved.gpu),
      is_assumed ? " (assumed)" : "");
}

}  // namespace trainyard
