#include "lab/page_parts.hpp"

#include "units/text_layout.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

doc::Section& add_part(doc::Document& page, std::string_view title) {
  std::string key(title);
  std::erase_if(key, [](char c) { return c != ' ' && (c < 'a' || c > 'z'); });
  std::ranges::replace(key, ' ', '-');
  return page.account(std::move(key), std::string(title));
}

doc::Section& add_part(doc::Document& page, std::string_view title, std::string words) {
  doc::Section& section = add_part(page, title);
  const doc::Shown shown = words == title ? doc::Shown::text : doc::Shown::everywhere;
  section.add(doc::Sentence{.text = std::move(words), .indent = 0, .shown = shown});
  return section;
}

doc::Table table_of(std::string title, std::vector<std::string> heads, std::vector<TableColumn> columns,
                    std::size_t gap) {
  doc::Table table{.title = std::move(title), .shape = {.indent = 0, .gap = gap, .elsewhere = "--json"}};
  for (std::size_t i = 0; i < heads.size(); ++i)
    table.columns.push_back({.head = std::move(heads[i]), .layout = std::move(columns[i])});
  return table;
}

doc::Value percent_value(std::optional<double> ratio) {
  doc::Value value(percent_cell(ratio));
  value.number = ratio;
  return value;
}

doc::Value signed_value(std::optional<double> ratio) {
  doc::Value value(signed_cell(ratio));
  value.number = ratio;
  return value;
}

void add_reasons(doc::Section& section, const std::map<std::string, int>& reasons) {
  if (reasons.empty()) return;
  doc::Table table =
      table_of("rows left out", {"rows", "reason"}, {number_column(8), text_column().wraps(20)}, 2);
  table.has_heads = false;
  for (const auto& [reason, rows] : reasons)
    add_row(table, doc::Value(fmt::format("{:>8}", rows), rows), reason);
  section.add(std::move(table));
}

}  // namespace trainyard
