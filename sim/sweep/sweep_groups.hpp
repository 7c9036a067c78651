#pragma once
// A sweep's result in groups, one for each value of a varied key: each is a result of its own, in which that
// value is set for all points, so that tables and conclusions need not know of groups.

#include "sweep/sweep_result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The values of a varied key that have rows, in the order of its list, or without lists in that of the rows.
/// Throws std::out_of_range if the key is not varied.
std::vector<std::string> group_values(const SweepResult& result, std::string_view key);

/// The rows with this value of a varied key; points keep their numbers and lose the key. Published figures
/// of other groups have no row in it. Throws std::out_of_range if the key is not varied.
SweepResult group_of(const SweepResult& result, std::string_view key, const std::string& value);

/// The same result with the rows of each group together.
SweepResult sorted_by_group(const SweepResult& result, std::string_view key);

}  // namespace trainyard
