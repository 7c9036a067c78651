#include "published/solve_scale.hpp"

#include <cmath>
#include <utility>

namespace trainyard {

std::optional<double> solve_scale(double wanted, const std::function<double(double)>& value_of) {
  constexpr double least = 1.0 / 20;
  constexpr double most = 20;
  constexpr double enough = 1e-9;
  constexpr double as_good_as = 1e-6;
  double low = least;
  double high = most;
  double scale = 1;
  double at_last = value_of(scale);
  std::optional<std::pair<double, double>> before;  // a scale and its value
  for (int i = 0; i < 60 && std::abs(at_last / wanted - 1) > enough; ++i) {
    (at_last < wanted ? low : high) = scale;
    // linear interpolation through the last two points; proportional at first
    double next = scale * wanted / at_last;
    if (before && before->second != at_last)
      next = scale + (wanted - at_last) * (before->first - scale) / (before->second - at_last);
    if (next <= low || next >= high) next = (low + high) / 2;
    before = {scale, at_last};
    scale = next;
    at_last = value_of(scale);
    if (high - low < enough * low) break;
  }
  if (std::abs(at_last / wanted - 1) <= as_good_as) return scale;
  // If the value jumps over the wanted one (a framework's ticks), the scale at the jump is the best possible.
  constexpr double of_a_jump = 0.05;
  const bool is_at_jump = low > least && high < most && high - low < as_good_as * low;
  if (!is_at_jump || std::abs(at_last / wanted - 1) > of_a_jump) return std::nullopt;
  return scale;
}

}  // namespace trainyard
