#include "units/csv.hpp"

#include "units/spreadsheet_text.hpp"
#include "units/text.hpp"

#include <utility>

namespace trainyard {

void append_csv_cell(std::string& csv, std::string_view plain) {
  const std::string text = with_apostrophes(plain);
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string::npos && !text.starts_with('#') &&
                        (text.empty() || (!is_blank(text.front()) && !is_blank(text.back())));
  if (is_plain) {
    csv += text;
    return;
  }
  csv += '"';
  for (const char c : text) {
    if (c == '"') csv += '"';
    csv += c;
  }
  csv += '"';
}

std::string csv_cell(std::string_view plain) {
  std::string cell;
  append_csv_cell(cell, plain);
  return cell;
}

CsvText::CsvText(std::string_view heads) : text_(heads) {
  if (!text_.empty()) text_ += '\n';
}

void CsvText::end_row() {
  text_ += '\n';
  is_first_ = true;
}

void CsvText::cell(std::string_view text) {
  if (!std::exchange(is_first_, false)) text_ += ',';
  append_csv_cell(text_, text);
}

void CsvText::cell(double number) { cell(std::string_view(digits12(number))); }

}  // namespace trainyard
