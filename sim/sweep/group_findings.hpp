#pragma once
// Summary of each named group of points (group_key): how well they scale, and the effect of each varied key.
// Computed from the rows alone.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A quantity of several series, or of several pairs of points.
struct Spread {
  double median = 0, low = 0, high = 0;
};

/// The effect of another value of a varied key: over pairs of points that differ in this key alone, from the
/// first value that ran in the group to this one, each on the largest number of GPUs on which both ran.
struct GroupEffect {
  std::string key, value, first;
  std::size_t pairs = 0;             ///< at least one
  Spread throughput;                 ///< ratio
  std::optional<Spread> efficiency;  ///< difference of the scaling efficiencies; nothing where one is unknown
  std::optional<Spread> memory;      ///< ratio of the memory per GPU
};

struct GroupFinding {
  std::string group;
  std::string members;     ///< the first key whose values are of one group each, "model=a, b"; or empty
  std::size_t points = 0;  ///< that ran
  std::optional<Spread> efficiency;   ///< scaling efficiency of each series on its most GPUs
  std::optional<Spread> utilization;  ///< of the memory of a GPU, of all points
  std::vector<GroupEffect> effects;   ///< by key, then by value, in the file's order
};

/// In the order of the list of group_key; empty if the sweep has no groups. Keys that count GPUs, and keys
/// that change only together with others, have no effects. Efficiencies are those of efficiencies()
/// (scaling.hpp).
std::vector<GroupFinding> group_findings(const SweepResult& result);

/// The effect that changes the throughput most upwards, or downwards; null if none does.
const GroupEffect* strongest_effect(const GroupFinding& finding, bool is_gain);

}  // namespace trainyard
