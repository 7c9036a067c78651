#pragma once
// Axes of the pictures: the place of each value, the values that get a tick, and their text. An axis ends at
// ticks and always has two of them, however narrow the range of its values. All except linear_axis are
// logarithmic.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace trainyard {

struct AxisTick {
  double value = 0;
  std::string text;
};

struct PlotAxis {
  double begin = 0, length = 0;  ///< in pixels or percent; a negative length runs upwards
  std::vector<AxisTick> ticks;   ///< ascending, at least two: the axis runs from the first to the last
  bool is_linear = false;

  /// The place of a value, which must be above 0 unless the axis is linear.
  [[nodiscard]] double at(double value) const;
};

/// Ticks at powers of two over numbers of GPUs, at most `most` of them. Every value must be at least 1.
PlotAxis count_axis(const std::vector<double>& counts, double begin, double length, std::size_t most = 12);

using TickText = std::function<std::string(double)>;

/// Ticks at 1, 2 and 5 times powers of ten, at most `most` of them. Every value must be above 0.
PlotAxis decades_axis(const std::vector<double>& values, double begin, double length, std::size_t most,
                      const TickText& text);

/// Ticks at equal steps of 1, 2 or 5 times a power of ten, at most `most` (>= 3) of them, from 0 or, if
/// `from_zero` is false, from below the smallest value.
PlotAxis linear_axis(const std::vector<double>& values, double begin, double length, std::size_t most,
                     const TickText& text, bool from_zero = true);

}  // namespace trainyard
