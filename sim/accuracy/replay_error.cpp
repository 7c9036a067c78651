#include "accuracy/replay_error.hpp"

#include "accuracy/ratio_error.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

std::string_view shipped_model(std::string_view model) {
  const std::string_view name = without_length(model);
  return name.substr(0, name.find(' '));
}

}  // namespace

ReplayBounds one_gpu_replay_bounds(const std::vector<MeasuredReplay>& steps, std::string_view model,
                                   Seconds mean_op) {
  std::vector<const MeasuredReplay*> of_other_models;
  for (const MeasuredReplay& step : steps) {
    if (step.model != model) of_other_models.push_back(&step);
  }
  const auto is_shorter = [&](const MeasuredReplay* step) { return step->mean_op < mean_op; };
  if (mean_op > Seconds{} && !std::ranges::all_of(of_other_models, is_shorter)) {
    std::ranges::stable_sort(of_other_models, {}, [&](const MeasuredReplay* step) {
      return std::abs(std::log(step->mean_op / mean_op));
    });
    of_other_models.resize(std::min(of_other_models.size(), nearest_count));
  }
  std::vector<double> errors;  // logarithms of the throughput, measured over predicted
  for (const MeasuredReplay* step : of_other_models)
    errors.push_back(std::log(step->replayed / step->measured));
  const double low = quantile(errors, (1 - expected_share) / 2);
  const double high = quantile(errors, (1 + expected_share) / 2);
  const double half = half_width(low, high, 0);
  const double centre = (low + high) / 2;
  return {.bounds = {.low = std::expm1(centre - half), .high = std::expm1(centre + half)},
          .steps = static_cast<int>(of_other_models.size())};
}

std::optional<ExpectedError> replay_error(const PublishedErrors* errors, const Circumstances& of) {
  const ReplayBounds alone =
      one_gpu_replay_bounds(measured_replays(), shipped_model(of.use.model), of.mean_op);
  ErrorBounds bounds = alone.bounds;
  ExpectedError expected{.runs = alone.steps, .is_of_replays = true};
  if (of.gpus > 1) {
    if (errors == nullptr) return std::nullopt;
    Circumstances one = of;
    one.gpus = one.nodes = 1;
    const auto scaling = ratio_error(published_pairs(*errors, {RunChange::gpus}), one, of);
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
