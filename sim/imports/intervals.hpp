#pragma once
// Intervals of time, in whole nanoseconds.

#include <cstdint>
#include <vector>

namespace trainyard {

struct Interval {
  std::int64_t start = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The union as intervals that do not touch, in order.
std::vector<Interval> merged(std::vector<Interval> intervals);

std::int64_t total(const std::vector<Interval>& intervals);

/// Length of the overlap of two merged lists.
std::int64_t common(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// What is in the first of two merged lists and not in the second.
std::vector<Interval> without(const std::vector<Interval>& a, const std::vector<Interval>& b);

}  // namespace trainyard
