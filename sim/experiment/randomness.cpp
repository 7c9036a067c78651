#include "experiment/randomness.hpp"

#include "config/diagnostic.hpp"

#include <fmt/format.h>

namespace trainyard {

Randomness with_variation(Randomness randomness, const std::optional<GpuVariation>& variation) {
  if (randomness.gpus != GpuSpread::profile || !variation) return randomness;
  const auto normal = [](const std::optional<Sourced<double>>& deviation) {
    std::optional<random::Distribution> factor;
    if (!deviation) return factor;
    factor.emplace().kind = random::Kind::normal;
    factor->sd = deviation->value;
    return factor;
  };
  randomness.gpu = normal(variation->gpu);
  randomness.step = normal(variation->step);
  return randomness;
}

void fill_in_means(Randomness& randomness) {
  for_each_factor(randomness, [](std::string_view, random::Distribution& distribution) {
    if (random::has_mean(distribution.kind) && !distribution.mean) distribution.mean = 1;
  });
}

void check_variation(const Randomness& randomness, const GpuProfile& gpu) {
  if (randomness.gpus.value_or(GpuSpread::none) == GpuSpread::none ||
      (gpu.variation && (gpu.variation->gpu || gpu.variation->step)))
    return;
  throw InputError(fmt::format("{} does not state how much GPUs of its kind differ (variation)", gpu.name),
                   "random: {gpu: {kind: normal, sd: 0.015}}");
}

bool is_random(const Randomness& randomness) {
  bool has_factor = false;
  for_each_factor(randomness, [&](std::string_view, const random::Distribution&) { has_factor = true; });
  return has_factor || randomness.pauses || randomness.gpus == GpuSpread::profile;
}

}  // namespace trainyard
