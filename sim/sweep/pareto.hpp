#pragma once
// The Pareto order of quantities that are better the smaller they are.

#include <array>
#include <cstddef>

namespace trainyard {

/// Whether `a` is as small as `b` in all quantities and smaller in one.
template <std::size_t Count>
bool beats(const std::array<double, Count>& a, const std::array<double, Count>& b) {
  bool is_better = false;
  for (std::size_t i = 0; i < Count; ++i) {
    if (a[i] > b[i]) return false;
    is_better = is_better || a[i] < b[i];
  }
  return is_better;
}

}  // namespace trainyard
