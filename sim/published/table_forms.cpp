#include "published/table_forms.hpp"

#include "config/read.hpp"
#include "config/suggest.hpp"
#include "published/match_rules.hpp"
#include "published/published_rows.hpp"
#include "rules/row_pattern.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

bool has_form(const CsvRow& header, const TableForm& form) {
  return std::ranges::all_of(form.columns, [&](const std::string& column) {
    return std::ranges::find(header.cells, column, &CsvCell::text) != header.cells.end();
  });
}

/// "<=72" or ">72".
bool is_bound(const std::string& text) { return text.starts_with("<=") || text.starts_with('>'); }

/// Whether a cell is a number that the bound allows.
bool is_within(const std::string& bound, const std::string& cell) {
  const bool is_upper = bound.starts_with("<=");
  const Parsed<double> limit = parse_number(bound.substr(is_upper ? 2 : 1));
  const Parsed<double> number = parse_number(cell);
  return limit && number && (is_upper ? *number <= *limit : *number > *limit);
}

/// The cells of one line by column, in the form's words.
class Line {
public:
  Line(const CsvFile& table, const TableForm& form, const CsvRow& row)
      : table_(table), form_(form), row_(row) {}

  [[nodiscard]] std::string text(const std::string& column) const {
    const CsvCell* const cell = find(column);
    if (cell == nullptr) return {};
    const auto words = form_.words.find(column);
    if (words == form_.words.end()) return cell->text;
    const auto word = words->second.find(cell->text);
    return word == words->second.end() ? cell->text : word->second;
  }

  [[nodiscard]] bool matches(const FormRow& row) const {
    return std::ranges::all_of(row.when, [&](const auto& condition) {
      std::vector<std::string> texts = condition.second;
      const std::string cell = text(condition.first);
      const auto is_met = [&](const std::string& bound) { return is_within(bound, cell); };
      const auto words = std::ranges::partition(texts, is_bound);
      return std::ranges::all_of(texts.begin(), words.begin(), is_met) &&
             trainyard::matches({words.begin(), words.end()}, cell);
    });
  }

  /// The first word that the form does not know, with its place.
  [[nodiscard]] std::optional<Diagnostic> unknown() const {
    for (const auto& [column, words] : form_.known) {
      const CsvCell* const cell = find(column);
      if (cell == nullptr || cell->text.empty() || std::ranges::find(words, cell->text) != words.end())
        continue;
      const std::vector<std::string_view> names(words.begin(), words.end());
      return Diagnostic{.file = {},
                        .line = row_.line,
                        .column = cell->column,
                        .key_path = column,
                        .message = "unknown word " + in_quotes(cell->text) + " in the column " + column,
                        .hint = config::suggest(cell->text, names),
                        .source_line = {},
                        .width = cell->width,
                        .severity = Severity::warning};
    }
    return std::nullopt;
  }

  void check_counts(CsvProblems& problems) const {
    for (const std::string& column : form_.counts) {
      const CsvCell* const cell = find(column);
      if (cell == nullptr || cell->text.empty()) continue;
      const Parsed<long long> number = parse_integer(cell->text);
      if (!number || *number < 1)
        problems.error(row_.line, *cell, column,
                       "a whole number of at least 1 is needed, not " + in_quotes(cell->text));
    }
  }

  /// `pattern` with the line's cells in place of braces; errors point to the cell that it begins with.
  [[nodiscard]] CsvCell filled_in(const std::string& pattern) const {
    CsvCell cell;
    if (pattern.starts_with('{')) {
      const CsvCell* const first = find(pattern.substr(1, pattern.find_first_of("|}") - 1));
      if (first != nullptr) cell = *first;
    }
    cell.text = text_filled_in(pattern);
    return cell;
  }

private:
  [[nodiscard]] const CsvCell* find(const std::string& column) const {
    const auto found = std::ranges::find(table_.header.cells, column, &CsvCell::text);
    if (found == table_.header.cells.end()) return nullptr;
    return &row_.cells[static_cast<std::size_t>(found - table_.header.cells.begin())];
  }

  [[nodiscard]] std::string text_filled_in(const std::string& pattern) const {
    std::string filled;
    for (std::size_t place = 0; place < pattern.size();) {
      const std::size_t begin = std::min(pattern.find('{', place), pattern.size());
      filled += pattern.substr(place, begin - place);
      if (begin == pattern.size()) break;
      const std::size_t end = std::min(pattern.find('}', begin), pattern.size());
      filled += value_of(pattern.substr(begin + 1, end - begin - 1));
      place = end + 1;
    }
    return filled;
  }

  /// The value of "COLUMN", "COLUMN|TEXT" or "#KEY|TEXT".
  [[nodiscard]] std::string value_of(const std::string& name) const {
    const std::size_t bar = std::min(name.find('|'), name.size());
    const std::string column = name.substr(0, bar);
    std::string value = column.starts_with('#') ? comment(column.substr(1)) : text(column);
    if (value.empty() && bar < name.size()) value = name.substr(bar + 1);
    return value;
  }

  [[nodiscard]] std::string comment(const std::string& key) const {
    const auto found = std::ranges::find(table_.comments, key, &CsvComment::key);
    return found == table_.comments.end() ? std::string() : found->value.text;
  }

  const CsvFile& table_;
  const TableForm& form_;
  const CsvRow& row_;
};

/// The rows of one figure. `is_another`: lines that do not state it are left out. A line with an
/// unknown word belongs to the form's first row: conditions cannot tell its row.
FormedTable rows_of(const CsvFile& table, const TableForm& form, const FormRow& row,
                    const std::map<std::string, std::string>& cell_forms, bool is_another) {
  FormedTable made;
  made.file.header.line = table.header.line;
  for (const auto& [column, text] : cell_forms) made.file.header.cells.push_back({.text = column});
  for (const CsvRow& line : table.rows) {
    const Line cells(table, form, line);
    std::optional<Diagnostic> unknown = cells.unknown();
    const bool is_here = unknown ? &row == &form.rows.front() && !is_another : cells.matches(row);
    if (!is_here) continue;
    if (is_another && cells.filled_in(cell_forms.at("value")).text.empty()) continue;
    CsvRow& formed = made.file.rows.emplace_back(CsvRow{.line = line.line, .cells = {}});
    for (const auto& [column, text] : cell_forms) formed.cells.push_back(cells.filled_in(text));
    made.unknown.push_back(std::move(unknown));
  }
  return made;
}

bool is_published_column(const std::string& name) {
  const auto is = [&](const auto& column) { return column.name == name; };
  return std::ranges::any_of(published_columns, is) || std::ranges::any_of(layout_columns, is);
}

/// Reports columns that no published row has.
void check_columns(const std::map<std::string, std::string>& cells, const std::string& path,
                   config::Problems& problems) {
  for (const auto& [column, text] : cells) {
    if (!is_published_column(column))
      problems.error(config::join(path, column), "published rows have no such column");
  }
}

/// Reports such columns, bounds that are no numbers, and other figures without a value.
void check_rows(const TableForms& read, config::Problems& problems) {
  for (std::size_t i = 0; i < read.forms.size(); ++i) {
    const std::string form = config::join(config::join("forms", i), "rows");
    for (std::size_t k = 0; k < read.forms[i].rows.size(); ++k) {
      const std::string when = config::join(config::join(form, k), "when");
      for (const auto& [column, texts] : read.forms[i].rows[k].when) {
        for (const std::string& text : texts) {
          if (is_bound(text) && !parse_number(text.substr(text.starts_with('<') ? 2 : 1)))
            problems.error(config::join(when, column), "a bound is <=NUMBER or >NUMBER");
        }
      }
      check_columns(read.forms[i].rows[k].cells, config::join(config::join(form, k), "cells"), problems);
      const auto& also = read.forms[i].rows[k].also;
      for (std::size_t n = 0; n < also.size(); ++n) {
        const std::string path = config::join(config::join(config::join(form, k), "also"), n);
        check_columns(also[n], path, problems);
        if (!also[n].contains("value")) problems.error(path, "another figure needs a value");
      }
    }
  }
}

}  // namespace

TableForms load_table_forms(const config::Document& document) {
  return config::read<TableForms>(document, [](const TableForms& read, config::Problems& problems) {
    problems.check_name(read.name);
    check_rows(read, problems);
  });
}

TableForms shipped_table_forms(const config::Catalogue& catalogue) {
  const std::filesystem::path file = config::shipped_file(catalogue, "workloads/published/forms.yaml");
  return file.empty() ? TableForms() : load_table_forms(config::load(file));
}

std::vector<FormedTable> in_published_columns(CsvFile table, const TableForms& forms, CsvProblems& problems) {
  std::vector<FormedTable> all;
  for (const TableForm& form : forms.forms) {
    if (!has_form(table.header, form)) continue;
    for (const CsvRow& row : table.rows) Line(table, form, row).check_counts(problems);
    for (const FormRow& row : form.rows) {
      all.push_back(rows_of(table, form, row, row.cells, false));
      for (std::map<std::string, std::string> other : row.also) {
        other.insert(row.cells.begin(), row.cells.end());
        all.push_back(rows_of(table, form, row, other, true));
      }
    }
    return all;
  }
  all.push_back({.file = std::move(table)});
  return all;
}

}  // namespace trainyard
