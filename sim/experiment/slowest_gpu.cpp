#include "experiment/slowest_gpu.hpp"

#include "experiment/workers.hpp"
#include "random/order_statistics.hpp"

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

bool has_own_randomness(const Experiment& settings) {
  return is_random(settings.random) || !settings.random.slow.empty();
}

bool is_slowed(const ResolvedExperiment& resolved) {
  if (resolved.settings.random.gpus) return *resolved.settings.random.gpus == GpuSpread::slowest;
  return !resolved.stack.slowdown.source.empty() && !has_own_randomness(resolved.settings) &&
         waits_for_all(resolved);
}

}  // namespace

double slowest_gpu(const ResolvedExperiment& resolved) {
  if (!is_slowed(resolved)) return 1;
  return 1 + random::expected_maximum(resolved.cluster->ranks(), variation_of(resolved.gpu));
}

std::string slowest_gpu_note(const ResolvedExperiment& resolved) {
  return fmt::format(
      "kernels take {:.1f} % longer than on one GPU: on average the slowest of {} that vary by {:.3g} % "
      "(random.gpus: slowest)",
      100 * (resolved.stack.slowdown.slowest - 1), resolved.cluster->ranks(),
      100 * variation_of(resolved.gpu));
}

}  // namespace trainyard
