#pragma once
// One line of a trace's table while it becomes an op: its cells by column, and readers that report wrong
// ones.

#include "config/suggest.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/trace_columns.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace trainyard {

constexpr auto column_texts() {
  std::array<std::string_view, trace_columns.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = trace_columns[i].text;
  return result;
}

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

inline TracePositions find_columns(const CsvFile& file, CsvProblems& problems) {
  constexpr auto names = column_texts();
  TracePositions positions;
  positions.fill(-1);
  for (std::size_t i = 0; i < file.header.cells.size(); ++i) {
    const CsvCell& cell = file.header.cells[i];
    std::size_t known = 0;
    while (known < names.size() && names[known] != cell.text) ++known;
    if (known == names.size()) {
      problems.error(file.header.line, cell, "", "unknown column " + in_quotes(cell.text),
                     config::suggest(cell.text, names));
    } else if (positions[known] >= 0) {
      problems.error(file.header.line, cell, "", "column " + in_quotes(cell.text) + " appears twice");
    } else {
      positions[known] = static_cast<int>(i);
    }
  }
  const auto is_missing = [&](TraceColumn column) { return positions[static_cast<std::size_t>(column)] < 0; };
  for (const TraceColumn column : {TraceColumn::phase, TraceColumn::layer}) {
    if (!is_missing(column)) continue;
    problems.error(file.header.line,
                   "column " + in_quotes(names[static_cast<std::size_t>(column)]) + " is missing",
                   "a trace needs the columns phase, layer and kind or duration_s");
  }
  if (is_missing(TraceColumn::kind) && is_missing(TraceColumn::duration_s)) {
    problems.error(file.header.line, "columns 'kind' and 'duration_s' are both missing",
                   "add duration_s, or kind with flops and bytes");
  }
  return positions;
}

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
inline std::optional<double> parse_part(const TraceRow& row, TraceColumn column, std::string_view text,
                                        double largest, std::string_view hint = {}) {
  const Parsed<double> parsed = parse_number(text);
  if (!parsed) {
    const UnitError& error = parsed.error();
    row.error(column, error.message, error.hint.empty() ? std::string(hint) : error.hint);
    return std::nullopt;
  }
  const double value = *parsed;
  if (value < 0) {
    row.error(column, in_quotes(text) + " is negative");
    return std::nullopt;
  }
  if (value > largest) {
    row.error(column, in_quotes(text) + " is implausibly large", std::string(hint));
    return std::nullopt;
  }
  return value;
}

/// The number in a cell; 0 if it is empty or, after reporting it, invalid.
inline double read_number(const TraceRow& row, TraceColumn column, double largest,
                          std::string_view hint = {}) {
  return row.has(column) ? parse_part(row, column, row.find(column)->text, largest, hint).value_or(0) : 0;
}

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
