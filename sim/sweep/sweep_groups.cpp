#include "sweep/sweep_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

namespace trainyard {
namespace {

std::size_t place_of(const Sweep& sweep, std::string_view key) {
  const auto found = std::ranges::find(sweep.keys, key);
  if (found == sweep.keys.end()) throw std::out_of_range(fmt::format("{} is not varied", key));
  return static_cast<std::size_t>(found - sweep.keys.begin());
}

/// The result without its rows and what is stated by row.
SweepResult without_rows(const SweepResult& result) {
  return {.sweep = result.sweep, .figures = result.figures, .rows = {}};
}

void copy_row(const SweepResult& from, std::size_t row, SweepResult& to) {
  to.rows.push_back(from.rows[row]);
  if (!from.efficiency_errors.empty()) to.efficiency_errors.push_back(from.efficiency_errors[row]);
}

}  // namespace

std::vector<std::string> group_values(const SweepResult& result, std::string_view key) {
  const std::size_t place = place_of(result.sweep, key);
  std::vector<std::string> values;
  const auto add = [&](const std::string& value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  for (const SweepRow& row : result.rows) add(result.sweep.points[row.point][place]);
  if (result.sweep.lists.empty()) return values;
  // where points are left out, the first value may have its first row late
  const std::vector<std::string>& list = result.sweep.lists[place];
  std::ranges::stable_sort(values, {},
                           [&](const std::string& value) { return std::ranges::find(list, value); });
  return values;
}

SweepResult group_of(const SweepResult& result, std::string_view key, const std::string& value) {
  const std::size_t place = place_of(result.sweep, key);
  SweepResult group = without_rows(result);
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    if (result.sweep.points[result.rows[row].point][place] == value) copy_row(result, row, group);
  }
  const auto erase_place = [&](auto& list) { list.erase(list.begin() + static_cast<std::ptrdiff_t>(place)); };
  erase_place(group.sweep.keys);
  if (!group.sweep.lists.empty()) erase_place(group.sweep.lists);
  std::ranges::for_each(group.sweep.points, erase_place);
  group.sweep.set.emplace_back(key, value);
  return group;
}

SweepResult sorted_by_group(const SweepResult& result, std::string_view key) {
  const std::size_t place = place_of(result.sweep, key);
  SweepResult sorted = without_rows(result);
  for (const std::string& value : group_values(result, key)) {
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
      if (result.sweep.points[result.rows[row].point][place] == value) copy_row(result, row, sorted);
    }
  }
  return sorted;
}

}  // namespace trainyard
