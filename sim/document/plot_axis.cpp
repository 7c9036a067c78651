#include "document/plot_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// `candidates` from the last at or below the least value to the first at or above the most.
std::vector<double> around(const std::vector<double>& candidates, double least, double most) {
  // A value equal to a tick, except for rounding, needs no further tick beyond.
  constexpr double rounding = 1e-9;
  auto first = std::ranges::upper_bound(candidates, least * (1 + rounding));
  if (first != candidates.begin()) --first;
  auto last = std::ranges::lower_bound(candidates, most * (1 - rounding));
  if (last == candidates.end()) --last;
  if (first == last && last + 1 != candidates.end()) ++last;
  return {first, last + 1};
}

/// Ticks at these multiples of every `powers`-th power of the base.
struct TickSteps {
  std::vector<double> digits;
  int powers = 1;
};

struct Powers {
  double base = 10;
  int first = 0, last = 0;
};

/// A logarithmic axis with the first of `kinds` that has at most `most` ticks around the values, or the last.
PlotAxis log_axis(const std::vector<double>& values, double begin, double length, std::size_t most,
                  const TickText& text, const Powers& range, const std::vector<TickSteps>& kinds) {
  const auto [least, highest] = std::ranges::minmax(values);
  PlotAxis axis{.begin = begin, .length = length, .ticks = {}};
  for (const TickSteps& steps : kinds) {
    std::vector<double> candidates;
    for (int power = range.first; power <= range.last; power += steps.powers) {
      for (const double digit : steps.digits) candidates.push_back(digit * std::pow(range.base, power));
    }
    axis.ticks.clear();
    for (const double value : around(candidates, least, highest)) axis.ticks.push_back({value, text(value)});
    if (axis.ticks.size() <= most) break;
  }
  return axis;
}

/// Every power, then fewer and fewer.
std::vector<TickSteps> every(std::initializer_list<int> powers) {
  std::vector<TickSteps> kinds;
  for (const int each : powers) kinds.push_back({{1}, each});
  return kinds;
}

}  // namespace

double PlotAxis::at(double value) const {
  if (is_linear) {
    return begin + length * (value - ticks.front().value) / (ticks.back().value - ticks.front().value);
  }
  const double low = std::log(ticks.front().value);
  const double high = std::log(ticks.back().value);
  return begin + length * (std::log(value) - low) / (high - low);
}

PlotAxis count_axis(const std::vector<double>& counts, double begin, double length, std::size_t most_counts) {
  const auto text = [](double count) { return fmt::format("{:.0f}", count); };
  return log_axis(counts, begin, length, most_counts, text, {.base = 2, .first = 0, .last = 30},
                  every({1, 2, 3, 5, 10}));
}

PlotAxis decades_axis(const std::vector<double>& values, double begin, double length, std::size_t most,
                      const TickText& text) {
  return log_axis(values, begin, length, most, text, {.first = -18, .last = 18},
                  {{{1, 2, 5}}, {{1, 3}}, {{1}}, {{1}, 3}});
}

PlotAxis linear_axis(const std::vector<double>& values, double begin, double length, std::size_t most,
                     const TickText& text, bool from_zero) {
  const auto [least, highest] = std::ranges::minmax(values);
  const double low = from_zero ? std::min(least, 0.0) : least;
  // Values that are equal except for rounding would have ticks closer than the precision of numbers: they get
  // the axis of a single value.
  constexpr double narrow = 1e-9;
  const bool is_wide = highest - low > narrow * std::max(std::abs(low), std::abs(highest));
  const double high = is_wide ? highest : low + std::max(std::abs(low), 1.0);
  PlotAxis axis{.begin = begin, .length = length, .ticks = {}, .is_linear = true};
  // A value equal to a tick, except for rounding, needs no further tick beyond.
  constexpr double rounding = 1e-9;
  const int power = static_cast<int>(std::floor(std::log10(high - low))) - 1;
  for (int i = 0;; ++i) {
    constexpr std::array<double, 3> digits{1, 2, 5};
    const double step = digits[static_cast<std::size_t>(i) % 3] * std::pow(10, power + i / 3);
    const double first = std::floor(low / step + rounding);
    const double last = std::max(std::ceil(high / step - rounding), first + 1);
    if (last - first + 1 > static_cast<double>(most)) continue;
    for (double number = first; number <= last; ++number)
      axis.ticks.push_back({number * step, text(number * step)});
    return axis;
  }
}

}  // namespace trainyard
