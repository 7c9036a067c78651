#include "calibration/spread.hpp"

#include "compute/nearest.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

namespace trainyard {
namespace {

/// A product in the space of nearest.hpp's distances; computed once, since every pair is compared.
struct Place {
  std::array<double, 4> powers{};
  bool transpose_a = false, transpose_b = false;
};

Place place_of(const GemmShape& shape) {
  return {{rough_log2(shape.batch), rough_log2(shape.m), rough_log2(shape.n), rough_log2(shape.k)},
          shape.transpose_a,
          shape.transpose_b};
}

double squared_distance(const Place& a, const Place& b) {
  if (a.transpose_a != b.transpose_a || a.transpose_b != b.transpose_b)
    return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t i = 0; i < a.powers.size(); ++i) {
    const double step = a.powers.at(i) - b.powers.at(i);
    sum += step * step;
  }
  return sum;
}

/// Indices of `keep` places far from one another, of at least as many.
std::vector<std::size_t> far_apart(const std::vector<Place>& places, std::size_t keep) {
  std::vector<std::size_t> chosen;
  std::vector<double> distances(places.size(), std::numeric_limits<double>::infinity());  // to those chosen
  while (chosen.size() < keep) {
    const auto farthest = std::ranges::max_element(distances);
    chosen.push_back(static_cast<std::size_t>(farthest - distances.begin()));
    const Place& place = places[chosen.back()];
    for (std::size_t i = 0; i < places.size(); ++i) {
      distances[i] = std::min(distances[i], squared_distance(places[i], place));
    }
    distances[chosen.back()] = -1;  // no product twice, not even among equal ones
  }
  return chosen;
}

}  // namespace

std::vector<GemmKernel> spread(const std::vector<GemmKernel>& products, std::size_t keep) {
  std::map<Dtype, std::vector<std::size_t>> by_type;
  for (std::size_t i = 0; i < products.size(); ++i) by_type[products[i].dtype].push_back(i);
  std::vector<std::size_t> kept;
  for (const auto& [dtype, of_type] : by_type) {
    if (of_type.size() <= keep) {
      kept.insert(kept.end(), of_type.begin(), of_type.end());
      continue;
    }
    std::vector<Place> places;
    for (const std::size_t i : of_type) places.push_back(place_of(products[i].shape));
    for (const std::size_t i : far_apart(places, keep)) kept.push_back(of_type[i]);
  }
  std::ranges::sort(kept);
  std::vector<GemmKernel> result;
  for (const std::size_t i : kept) result.push_back(products[i]);
  return result;
}

}  // namespace trainyard
