#pragma once
// The gain from larger values of a varied key: the throughput of points that differ in one key alone, such as
// the rate of a NIC.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Where each step to the next larger value gains less than this, the gain has ended.
inline constexpr double little_gain = 0.01;

/// Rows that differ only in `key`, in ascending order of its value; at least two.
struct GainSeries {
  std::string key;
  std::string other_keys;           ///< with values, "platform.node.nics=1"; empty if none
  std::vector<std::size_t> rows;    ///< indices in the result
  std::vector<std::string> values;  ///< of `key`, as written
  std::vector<double> gains;        ///< throughput over that of the value before, less 1; one fewer than rows
};

/// The series of every varied key whose values are numbers with one unit, except keys that count GPUs
/// (scaling.hpp). In the order of keys, then of their first rows; without failed rows.
std::vector<GainSeries> gains_of(const SweepResult& result);

/// The place in `values` from which on each larger value gains less than little_gain; nothing if the last
/// still gains more.
std::optional<std::size_t> gain_ends_at(const GainSeries& series);

}  // namespace trainyard
