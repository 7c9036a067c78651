#include "accuracy/replay_error.hpp"

#include "accuracy/ratio_error.hpp"
#include "units/statistics.hpp"

#include <cmath>
#include <vector>

namespace trainyard {

ErrorBounds one_gpu_replay_bounds() {
  std::vector<double> errors;  // logarithms of the throughput, measured over predicted
  for (const MeasuredReplay& step : replayed_steps) errors.push_back(std::log(step.replayed / step.measured));
  const NextValue next = next_value(errors, expected_share);
  return {.low = std::expm1(next.low), .high = std::expm1(next.high)};
}

std::optional<ExpectedError> replay_error(const PublishedErrors* errors, const Circumstances& of) {
  ErrorBounds bounds = one_gpu_replay_bounds();
  ExpectedError expected{.runs = static_cast<int>(replayed_steps.size()), .is_of_replays = true};
  if (of.gpus > 1) {
    if (errors == nullptr) return std::nullopt;
    Circumstances alone = of;
    alone.gpus = alone.nodes = 1;
    const auto scaling = ratio_error(published_pairs(*errors, {RunChange::gpus}), alone, of);
    if (!scaling) return std::nullopt;
    bounds = of_product(bounds, {.low = scaling->low, .high = scaling->high});
    expected.pairs = scaling->pairs;
    expected.nearest = scaling->nearest_b;
  }
  expected.low = bounds.low;
  expected.high = bounds.high;
  return expected;
}

}  // namespace trainyard
