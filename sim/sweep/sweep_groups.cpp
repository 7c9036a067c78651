#include "sweep/sweep_groups.hpp"

#include "sweep/scaling.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>

namespace trainyard {
namespace {

std::size_t place_of(const Sweep& sweep, std::string_view key) {
  const auto found = std::ranges::find(sweep.keys, key);
  if (found == sweep.keys.end()) throw std::out_of_range(fmt::format("{} is not varied", key));
  return static_cast<std::size_t>(found - sweep.keys.begin());
}

/// A value of the key, and its rows by their indices.
struct RowsOfValue {
  std::string value;
  std::vector<std::size_t> rows;
};

std::vector<RowsOfValue> rows_by_value(const SweepResult& result, std::size_t place) {
  std::vector<RowsOfValue> groups;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    const std::string& value = result.sweep.points[result.rows[row].point][place];
    const auto [found, is_new] = known.emplace(value, groups.size());
    if (is_new) groups.push_back({value, {}});
    groups[found->second].rows.push_back(row);
  }
  if (result.sweep.lists.empty()) return groups;
  // where points are left out, the first value may have its first row late
  const std::vector<std::string>& list = result.sweep.lists[place];
  std::ranges::stable_sort(groups, {},
                           [&](const RowsOfValue& group) { return std::ranges::find(list, group.value); });
  return groups;
}

/// These of `all`; none where nothing is stated by row.
template <class T>
std::vector<T> chosen(const std::vector<T>& all, const std::vector<std::size_t>& rows) {
  std::vector<T> these;
  if (all.empty()) return these;
  these.reserve(rows.size());
  for (const std::size_t row : rows) these.push_back(all[row]);
  return these;
}

/// The sweep of a group: without the values of its points.
Sweep without_key(const Sweep& sweep, std::size_t place) {
  Sweep without = sweep;
  without.points.assign(sweep.points.size(), {});
  const auto offset = static_cast<std::ptrdiff_t>(place);
  without.keys.erase(without.keys.begin() + offset);
  if (!without.lists.empty()) without.lists.erase(without.lists.begin() + offset);
  return without;
}

}  // namespace

std::vector<SweepGroup> groups_of(const SweepResult& result, std::string_view key) {
  const std::size_t place = place_of(result.sweep, key);
  const auto scaling = relative_scaling(result);
  const Sweep sweep = without_key(result.sweep, place);
  std::vector<SweepGroup> groups;
  for (const auto& [value, rows] : rows_by_value(result, place)) {
    SweepGroup& group =
        groups.emplace_back(SweepGroup{value,
                                       {.sweep = sweep,
                                        .figures = result.figures,
                                        .rows = chosen(result.rows, rows),
                                        .efficiency_errors = chosen(result.efficiency_errors, rows),
                                        .relative_errors = result.relative_errors,
                                        .scaling_of_whole = chosen(scaling, rows)}});
    group.result.sweep.set.emplace_back(key, value);
    for (const SweepRow& row : group.result.rows) {
      PointValues values = result.sweep.points[row.point];
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(place));
      group.result.sweep.points[row.point] = std::move(values);
    }
  }
  return groups;
}

std::vector<SweepGroup> sections_of(const SweepResult& result) {
  const std::optional<ReportTables>& report = result.sweep.report;
  const bool has_sections =
      report && std::ranges::find(result.sweep.keys, report->section) != result.sweep.keys.end();
  return has_sections ? groups_of(result, report->section) : std::vector{SweepGroup{{}, result}};
}

SweepResult sorted_by_group(const SweepResult& result, std::string_view key) {
  std::vector<std::size_t> order;
  for (const RowsOfValue& group : rows_by_value(result, place_of(result.sweep, key)))
    order.insert(order.end(), group.rows.begin(), group.rows.end());
  return {.sweep = result.sweep,
          .figures = result.figures,
          .rows = chosen(result.rows, order),
          .efficiency_errors = chosen(result.efficiency_errors, order),
          .relative_errors = result.relative_errors,
          .scaling_of_whole = chosen(result.scaling_of_whole, order)};
}

}  // namespace trainyard
