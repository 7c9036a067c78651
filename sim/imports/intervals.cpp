#include "imports/intervals.hpp"

#include <algorithm>

namespace trainyard {

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, [](const Interval& a, const Interval& b) {
    return a.start != b.start ? a.start < b.start : a.end < b.end;
  });
  std::vector<Interval> result;
  for (const Interval& one : intervals) {
    if (!result.empty() && one.start <= result.back().end) {
      result.back().end = std::max(result.back().end, one.end);
    } else {
      result.push_back(one);
    }
  }
  return result;
}

std::int64_t total(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const Interval& one : intervals) sum += one.end - one.start;
  return sum;
}

std::int64_t common(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<std::int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start));
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

std::vector<Interval> without(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> result;
  auto covers = b.begin();
  for (const Interval& one : a) {
    std::int64_t from = one.start;
    while (covers != b.end() && covers->end <= from) ++covers;
    for (auto at = covers; at != b.end() && at->start < one.end; ++at) {
      if (at->start > from) result.push_back({from, at->start});
      from = std::max(from, at->end);
    }
    if (from < one.end) result.push_back({from, one.end});
  }
  return result;
}

}  // namespace trainyard
