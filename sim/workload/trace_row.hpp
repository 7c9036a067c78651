#pragma once
// A line of a trace CSV while it becomes an Op, and its cells: choices, numbers, lists.

#include "config/fields.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/trace_columns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

inline constexpr double most_bytes = 1e18;  // per op: years of any memory

/// Index of each known column in the file; -1 if missing.
using TracePositions = std::array<int, trace_columns.size()>;

/// One line while it becomes an Op.
struct TraceRow {
  const CsvRow& csv;
  const TracePositions& positions;
  CsvProblems& problems;

  [[nodiscard]] const CsvCell* find(TraceColumn column) const {
    const int at = positions[static_cast<std::size_t>(column)];
    return at < 0 ? nullptr : &csv.cells[static_cast<std::size_t>(at)];
  }
  [[nodiscard]] bool has(TraceColumn column) const {
    const CsvCell* cell = find(column);
    return cell != nullptr && !cell->text.empty();
  }
  /// Reports the cell of `column`, or the line if the file has no such column.
  void error(TraceColumn column, std::string message, std::string hint = {}) const {
    const std::string_view name = trace_columns[static_cast<std::size_t>(column)].text;
    if (const CsvCell* cell = find(column)) {
      problems.error(csv.line, *cell, name, std::move(message), std::move(hint));
    } else {
      problems.error(csv.line, std::move(message), std::move(hint));
    }
  }
};

/// Sets `value` to the choice named `text`. Calls `report` with message and hint for an unknown name and then
/// returns false.
template <class E, class Report>
bool choose(const std::string& text, E& value, Report report) {
  if (const auto known = config::value_named<E>(text)) {
    value = *known;
    return true;
  }
  constexpr auto names = config::texts_of<E>();
  report("unknown " + std::string(config::Names<E>::what) + " " + in_quotes(text),
         config::suggest(text, names));
  return false;
}

/// Sets `value` to the choice named in a cell; leaves it if the cell is empty or the column is missing.
/// Reports unknown names and then returns false.
template <class E>
bool read_choice(const TraceRow& row, TraceColumn column, E& value) {
  return !row.has(column) ||
         choose(row.find(column)->text, value, [&](const std::string& message, const std::string& hint) {
           row.error(column, message, hint);
         });
}

/// The number in `text`, a cell of `column` or a part of it. If it is not a number, negative or above
/// `largest`, reports it and returns empty.
std::optional<double> parse_part(const TraceRow& row, TraceColumn column, std::string_view text,
                                 double largest, std::string_view hint = {});

/// Calls `item` with each part of a list "a;b;c".
template <class Item>
void for_each_item(std::string_view list, Item item) {
  while (true) {
    const std::size_t end = std::min(list.find(';'), list.size());
    item(list.substr(0, end));
    if (end == list.size()) return;
    list.remove_prefix(end + 1);
  }
}

}  // namespace trainyard
