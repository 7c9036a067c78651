#pragma once
// Writes CSV (RFC 4180, but lines end in a plain newline): the one place with its rules. workload/csv.hpp
// reads it.

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// Appends a cell, quoted if necessary, in a form that no spreadsheet executes (units/spreadsheet_text.hpp).
void append_csv_cell(std::string& csv, std::string_view plain);

/// The same cell alone.
std::string csv_cell(std::string_view plain);

/// A table, row by row. Numbers have twelve significant digits, quantities are in SI base units, true is 1;
/// what is missing is an empty cell.
class CsvText {
public:
  /// The names of the columns, separated by commas; empty: the first row follows.
  explicit CsvText(std::string_view heads);

  /// Appends cells to the row.
  template <class... Cells>
  void add(const Cells&... cells) {
    (cell(cells), ...);
  }
  void end_row();
  template <class... Cells>
  void row(const Cells&... cells) {
    add(cells...);
    end_row();
  }

  [[nodiscard]] const std::string& text() const { return text_; }

private:
  void cell(std::string_view text);
  void cell(double number);
  template <std::integral Number>
  void cell(Number number) {
    cell(std::string_view(std::to_string(number)));
  }
  template <class Q>
  requires requires(Q q) { q.si(); }
  void cell(Q quantity) { cell(quantity.si()); }
  template <class Value>
  void cell(const std::optional<Value>& value) {
    value ? cell(*value) : cell(std::string_view());
  }

  std::string text_;
  bool is_first_ = true;  ///< of its row
};

}  // namespace trainyard
