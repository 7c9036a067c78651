#pragma once
// The runs that kernel times were fitted to before a published measurement was predicted.

#include "config/keys.hpp"

#include <array>
#include <cstddef>

namespace trainyard {

/// Nothing; software fitted to one-GPU runs of other series; or in addition one factor on all kernel times
/// with which a reference is matched. The names of the last four say which measurements the references are.
enum class Fit { nothing, software, one_gpu, one_node, one_layout, one_system };

constexpr bool has_reference(Fit fit) { return fit != Fit::nothing && fit != Fit::software; }

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<Fit> {
  static constexpr std::string_view what = "fit";
  static constexpr std::array table{
      Name{"nothing", Fit::nothing, "nothing is fitted"},
      Name{"software", Fit::software,
           "kernel times multiplied by factors fitted to published one-GPU runs of other series"},
      Name{"1gpu", Fit::one_gpu,
           "all kernel times scaled by one factor, so that the published one-GPU run is matched"},
      Name{"1node", Fit::one_node,
           "all kernel times scaled by one factor, so that the published one-node run is matched"},
      Name{"1layout", Fit::one_layout,
           "all kernel times scaled by one factor of the series: the median of those with which the other "
           "published runs on its fewest GPUs are matched"},
      Name{"1system", Fit::one_system,
           "all kernel times of a system scaled by one factor, so that the time to train of one of its rows "
           "is matched"},
      Name{"spec", Fit::nothing, "the former name of nothing"}};
};

}  // namespace trainyard::config

namespace trainyard {

inline constexpr std::size_t fit_count = 6;

/// One value for each fit.
template <class T>
struct ByFit {
  std::array<T, fit_count> values{};
  [[nodiscard]] const T& operator[](Fit fit) const { return values[static_cast<std::size_t>(fit)]; }
  [[nodiscard]] T& operator[](Fit fit) { return values[static_cast<std::size_t>(fit)]; }
};

}  // namespace trainyard
