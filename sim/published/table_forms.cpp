#include "published/table_forms.hpp"

#include "config/document.hpp"
#include "config/read.hpp"
#include "published/row_pattern.hpp"

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

/// The cells of one line by column, in the form's words.
class Line {
public:
  Line(const CsvFile& table, const TableForm& form, const CsvRow& row)
      : table_(table), form_(form), row_(row) {}

  [[nodiscard]] std::string text(const std::string& column) const {
    const auto found = std::ranges::find(table_.header.cells, column, &CsvCell::text);
    if (found == table_.header.cells.end()) return {};
    const std::string& cell = row_.cells[static_cast<std::size_t>(found - table_.header.cells.begin())].text;
    const auto words = form_.words.find(column);
    if (words == form_.words.end()) return cell;
    const auto word = words->second.find(cell);
    return word == words->second.end() ? cell : word->second;
  }

  [[nodiscard]] bool matches(const FormRow& row) const {
    return std::ranges::all_of(row.when, [&](const auto& condition) {
      return trainyard::matches(condition.second, text(condition.first));
    });
  }

  /// `pattern` with the line's cells in place of braces.
  [[nodiscard]] std::string filled_in(const std::string& pattern) const {
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

private:
  /// Of "COLUMN", "COLUMN|TEXT" or "#KEY|TEXT".
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

CsvFile rows_of(const CsvFile& table, const TableForm& form, const FormRow& row) {
  CsvFile made;
  made.header.line = table.header.line;
  for (const auto& [column, text] : row.cells) made.header.cells.push_back({.text = column});
  for (const CsvRow& line : table.rows) {
    const Line cells(table, form, line);
    if (!cells.matches(row)) continue;
    CsvRow& its = made.rows.emplace_back(CsvRow{.line = line.line, .cells = {}});
    for (const auto& [column, text] : row.cells) its.cells.push_back({.text = cells.filled_in(text)});
  }
  return made;
}

}  // namespace

TableForms shipped_table_forms(const config::Catalogue& catalogue) {
  const std::filesystem::path file = config::shipped_file(catalogue, "workloads/published/forms.yaml");
  if (file.empty()) return {};
  return config::read<TableForms>(config::load(file), [](const TableForms& read, config::Problems& problems) {
    problems.check_name(read.name);
  });
}

std::vector<CsvFile> in_published_columns(CsvFile table, const TableForms& forms) {
  for (const TableForm& form : forms.forms) {
    if (!has_form(table.header, form)) continue;
    std::vector<CsvFile> all;
    for (const FormRow& row : form.rows) all.push_back(rows_of(table, form, row));
    return all;
  }
  std::vector<CsvFile> all;
  all.push_back(std::move(table));
  return all;
}

}  // namespace trainyard
