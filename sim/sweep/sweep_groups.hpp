#pragma once
// A sweep's result in groups, one for each value of a varied key: each is a result of its own, in which that
// value is set for all points, so that tables and conclusions need not know of groups.

#include "sweep/sweep_result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct SweepGroup {
  std::string value;   ///< of the key
  SweepResult result;  ///< points keep their numbers and lose the key; those of other groups have no values
};

/// A group for each value of a varied key that has rows, in the order of the key's list, or without lists in
/// that of the rows. Published figures of other groups have no row in it. Throws std::out_of_range if the key
/// is not varied.
std::vector<SweepGroup> groups_of(const SweepResult& result, std::string_view key);

/// The groups among which points are not chosen: the sections of the report's tables, or without them (or if
/// their key is set) the result itself.
std::vector<SweepGroup> sections_of(const SweepResult& result);

/// The result with the rows of each group together. Throws like groups_of.
SweepResult sorted_by_group(const SweepResult& result, std::string_view key);

}  // namespace trainyard
