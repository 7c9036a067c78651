#include "workload/csv.hpp"

#include "config/file_format.hpp"
#include "config/utf8.hpp"
#include "units/control_characters.hpp"
#include "units/spreadsheet_text.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_problems = 50;
constexpr std::size_t most_cells = 1000;         // of a line: no table here has a tenth of it
constexpr std::size_t longest_shown = 64 << 10;  // each problem keeps the text of its line

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<CsvComment> parse_comment(std::string_view line, int number) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view value = trim(line.substr(colon + 1));
  const auto start = static_cast<std::size_t>(value.data() - line.data());
  CsvComment comment;
  comment.key = trim(line.substr(1, colon - 1));
  comment.value = {without_apostrophes(value), config::count_characters(line.substr(0, start)) + 1,
                   std::max(1, config::count_characters(value))};
  comment.line = number;
  return comment;
}

/// Reads a quoted cell that starts at `at`; returns the offset after its closing quote, or npos if there is
/// none.
std::size_t read_quoted(std::string_view line, std::size_t at, std::string& text) {
  for (std::size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] != '"') {
      text += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '"') {
      text += '"';
      ++i;
    } else {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// `is_plain`: the file is plain ASCII. `cells`: the expected number of cells.
CsvRow parse_row(std::string_view line, int number, bool is_plain, std::size_t cells, CsvProblems& problems) {
  CsvRow row{number, {}};
  row.cells.reserve(cells);
  int column = 1;
  for (std::size_t at = 0;;) {
    CsvCell cell;
    cell.column = column;
    std::size_t end = 0;
    if (at < line.size() && line[at] == '"') {
      end = read_quoted(line, at, cell.text);
      const bool is_closed = end != std::string_view::npos;
      if (!is_closed || (end < line.size() && line[end] != ',')) {
        problems.error(number, cell, "",
                       is_closed ? "text after the closing quote" : "the quote is not closed",
                       "write \"\" for a quote inside a quoted cell");
        row.cells.clear();
        return row;
      }
    } else {
      end = std::min(line.find(',', at), line.size());
      cell.text = trim(line.substr(at, end - at));
    }
    if (cell.text.find('\'') != std::string::npos) cell.text = without_apostrophes(cell.text);
    const int width =
        is_plain ? static_cast<int>(end - at) : config::count_characters(line.substr(at, end - at));
    cell.width = std::max(1, width);
    if (row.cells.size() == most_cells) {
      problems.error(number, cell, "", fmt::format("a line has more than {} cells", most_cells), "");
      row.cells.clear();
      return row;
    }
    row.cells.push_back(std::move(cell));
    if (end >= line.size()) return row;
    at = end + 1;
    column += width + 1;
  }
}

std::string_view without_carriage_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

/// The text without a UTF-8 byte order mark.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

/// The text of line `number`, 1-based.
std::string_view line_at(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return without_carriage_return(text.substr(0, text.find('\n')));
}

}  // namespace

void CsvProblems::add(Diagnostic diagnostic) {
  if (found_.size() == most_problems) {
    ++left_out_;
    return;
  }
  if (diagnostic.line > 0) {
    std::string_view line = line_at(text_, diagnostic.line);
    if (diagnostic.line == 1) line = without_mark(line);
    if (line.size() <= longest_shown && !config::find_invalid_utf8(line)) diagnostic.source_line = line;
  }
  found_.push_back(std::move(diagnostic));
}

void CsvProblems::error(int line, const CsvCell& cell, std::string_view column_name, std::string message,
                        std::string hint) {
  add({.file = name_,
       .line = line,
       .column = cell.column,
       .key_path = std::string(column_name),
       .message = std::move(message),
       .hint = std::move(hint),
       .source_line = {},
       .width = cell.width});
}

void CsvProblems::error(int line, std::string message, std::string hint) {
  CsvCell whole;
  whole.column = line > 0 ? 1 : 0;
  error(line, whole, {}, std::move(message), std::move(hint));
}

void CsvProblems::finish() {
  if (found_.empty()) return;
  config::refuse_foreign(name_, text_, {config::FileFormat::trainyard_trace});
  if (left_out_ > 0) {
    Diagnostic rest;
    rest.file = name_;
    rest.message = "and " + std::to_string(left_out_) + " more errors";
    found_.push_back(std::move(rest));
  }
  throw InputError(std::move(found_));
}

CsvFile parse_csv(std::string_view text, CsvProblems& problems) {
  CsvFile file;
  if (text.size() > largest_csv) {
    problems.error(0, "the file has " + std::to_string(text.size()) + " bytes",
                   "a trace or table may have at most 64 MiB");
    return file;
  }
  const bool is_plain = is_plain_ascii(text);
  if (const auto offset = is_plain ? std::nullopt : config::find_invalid_utf8(text)) {
    const auto line =
        static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(*offset), '\n'));
    problems.error(line + 1, "byte " + std::to_string(*offset) + " of the file is not UTF-8 text",
                   "save the file as UTF-8");
    return file;
  }
  text = without_mark(text);

  file.rows.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  bool has_header = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_carriage_return(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trim(line).empty()) continue;
    if (const auto control = is_plain ? std::nullopt : find_control(line)) {
      const CsvCell place{.text = {}, .column = config::count_characters(line.substr(0, control->at)) + 1};
      problems.error(number, place, "", fmt::format("character U+{:04X} is not allowed", control->code));
      continue;
    }
    if (line.front() == '#') {
      if (auto comment = parse_comment(line, number)) file.comments.push_back(std::move(*comment));
      continue;
    }
    CsvRow row = parse_row(line, number, is_plain, file.header.cells.size(), problems);
    if (!has_header) {
      file.header = std::move(row);
      has_header = true;
    } else if (row.cells.empty()) {
      continue;  // reported by parse_row
    } else if (row.cells.size() != file.header.cells.size()) {
      problems.error(number, "the line has " + std::to_string(row.cells.size()) +
                                 " cells, but the header has " + std::to_string(file.header.cells.size()));
    } else {
      file.rows.push_back(std::move(row));
    }
  }
  if (!has_header) problems.error(0, "the file is empty", "start with a line that names the columns");
  return file;
}

}  // namespace trainyard
