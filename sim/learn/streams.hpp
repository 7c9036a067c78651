#pragma once
// The random streams of learning, apart from those of times: the same seed serves both.

#include "random/functions.hpp"
#include "random/generator.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace trainyard::learning {

/// First key of a stream; values of simulated times are small numbers (schedule/step_times.cpp).
enum Stream : std::uint64_t { split = 0x6c6561726e00, noise, made, start, batch, epoch, subset };

/// A whole number below `count`, all equally likely to within 2^-53 of their share.
inline int below(int count, random::Generator& generator) {
  return std::min(static_cast<int>(generator.uniform() * count), count - 1);
}

inline double normal(random::Generator& generator) { return random::normal_quantile(generator.uniform()); }

/// The numbers from 0 to count - 1 in random order (Fisher and Yates).
inline std::vector<int> shuffled(int count, random::Generator generator) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int left = count; left > 1; --left)
    std::swap(order[static_cast<std::size_t>(left - 1)],
              order[static_cast<std::size_t>(below(left, generator))]);
  return order;
}

}  // namespace trainyard::learning
