#include "reference.hpp"

#include "measurement.hpp"
#include "random_value.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace trainyard::cuda {
namespace {

/// Half the distance of the smallest values in fp16: below 2^-14 its rounding is no longer relative.
double absolute_rounding_of(Dtype dtype) { return dtype == Dtype::fp16 ? 0x1p-25 : 0; }

}  // namespace

std::vector<std::uint64_t> sample_positions(std::uint64_t elements, int count) {
  if (elements == 0) return {};
  const std::uint64_t wanted = std::min(elements, static_cast<std::uint64_t>(std::max(count, 1)));
  constexpr std::uint64_t seed = 0x7061'7269;  // any number not used for operands
  std::set<std::uint64_t> positions{0};
  if (wanted > 1) positions.insert(elements - 1);
  for (std::uint64_t draw = 0; positions.size() < wanted; ++draw) {
    // few elements: all positions are needed, and random drawing would take long
    positions.insert(elements <= 2 * wanted ? draw : random_bits(seed, draw) % elements);
  }
  return {positions.begin(), positions.end()};
}

void ReferenceCheck::compare(std::uint64_t position, double got, double expected, double magnitude) {
  const double difference = std::abs(got - expected);
  const double allowed = tolerance_of(compute_) * magnitude + rounding_of(stored_) * std::abs(expected) +
                         absolute_rounding_of(stored_);
  if (!(difference <= allowed)) {  // also true if `got` is NaN
    char text[200];
    std::snprintf(text, sizeof text,
                  ": value %llu is %.9g where the reference has %.9g (%.2g apart, %.2g allowed)",
                  static_cast<unsigned long long>(position), got, expected, difference, allowed);
    throw WrongResult(what_ + text);
  }
  if (magnitude > 0) error_ = std::max(error_, difference / magnitude);
}

}  // namespace trainyard::cuda
