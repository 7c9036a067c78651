#pragma once
// User-written CSV, with positions: comment lines start with '#', cells may be quoted ("a, b", with "" for a
// quote), lines may end in CRLF, a UTF-8 byte order mark is skipped. Used for trace CSVs and kernel tables.
// units/csv.hpp writes it. Text that a spreadsheet would execute has an apostrophe in the file
// (units/spreadsheet_text.hpp), not here.

#include "config/diagnostic.hpp"
#include "units/csv.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// In bytes; a trace of millions of ops is a mistake.
inline constexpr std::size_t largest_csv = std::size_t{64} << 20U;

struct CsvCell {
  std::string text;
  int column = 1;  ///< of its first character in the line, 1-based, in characters
  int width = 1;   ///< characters in the line, at least 1
};

struct CsvRow {
  int line = 0;  ///< 1-based
  std::vector<CsvCell> cells;
};

/// "# key: value"; other comments are left out.
struct CsvComment {
  std::string key;
  CsvCell value;
  int line = 0;
};

/// Collects the errors of one CSV file while it is read. At most 50 are kept; the rest are counted.
class CsvProblems {
public:
  CsvProblems(std::string name, std::string_view text) : name_(std::move(name)), text_(text) {}

  /// Reports a cell of line `line`; `column_name`: from the header.
  void error(int line, const CsvCell& cell, std::string_view column_name, std::string message,
             std::string hint = {});
  /// Reports a whole line, or the whole file when `line` is 0.
  void error(int line, std::string message, std::string hint = {});
  [[nodiscard]] bool empty() const { return found_.empty(); }
  /// Throws InputError if anything was reported.
  void finish();

private:
  void add(Diagnostic diagnostic);

  std::string name_;
  std::string_view text_;
  std::vector<Diagnostic> found_;
  int left_out_ = 0;
};

struct CsvFile {
  std::vector<CsvComment> comments;
  CsvRow header;
  std::vector<CsvRow> rows;  ///< each with as many cells as the header
};

/// Splits `text`. Reports to `problems`: a file that is empty, larger than 64 MiB or not UTF-8, lines with
/// control characters, a cell whose quotes do not close on its line, lines with more or fewer cells than the
/// header.
CsvFile parse_csv(std::string_view text, CsvProblems& problems);

}  // namespace trainyard
