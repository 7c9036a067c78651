#include "published/curve_errors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace trainyard {
namespace {

long half_octave(Bytes size) { return std::lround(2 * std::log2(size.si())); }

}  // namespace

std::vector<double> octave_weights(std::span<const SizedError> errors) {
  std::map<long, int> count;
  for (const SizedError& error : errors) ++count[half_octave(error.size)];
  std::vector<double> weights;
  weights.reserve(errors.size());
  for (const SizedError& error : errors) weights.push_back(1.0 / count[half_octave(error.size)]);
  return weights;
}

std::optional<double> mean_error(std::span<const SizedError> errors) {
  if (errors.empty()) return std::nullopt;
  const std::vector<double> weights = octave_weights(errors);
  double sum = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) sum += weights[i] * std::abs(errors[i].error);
  return sum / std::accumulate(weights.begin(), weights.end(), 0.0);
}

std::vector<SizedError> part_of(std::span<const SizedError> errors, bool large) {
  std::vector<SizedError> part;
  for (const SizedError& error : errors) {
    if ((error.size >= large_size) == large) part.push_back(error);
  }
  return part;
}

std::optional<double> weighted_quantile(std::span<const SizedError> errors, std::span<const double> weights,
                                        double share) {
  if (errors.empty()) return std::nullopt;
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size_of_error = [&](std::size_t i) { return std::abs(errors[i].error); };
  std::ranges::stable_sort(order, {}, size_of_error);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double below = 0;
  for (const std::size_t i : order) {
    below += weights[i];
    if (below >= share * all * (1 - 1e-12)) return size_of_error(i);
  }
  return size_of_error(order.back());
}

}  // namespace trainyard
