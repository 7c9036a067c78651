#include "report/comparison_table.hpp"

#include "report/comparison_report.hpp"
#include "report/page.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// As wide as the widest usual label and number.
constexpr std::size_t label_columns = 24;
constexpr std::size_t ratio_width = 9;  ///< "0.0405 x", "-35.3 %"

/// With two runs a narrow page drops the column of differences; with more, the columns go on below.
Table columns_of(std::size_t number) {
  constexpr std::size_t of_two_runs = 4;
  std::vector<TableColumn> columns{text_column(label_columns).wraps(14), number_column(head_width)};
  if (number == of_two_runs) {
    columns.insert(columns.end(), {number_column(head_width), number_column(18).drops(1), number_column(13)});
  } else {
    for (std::size_t i = 1; i < number; ++i)
      columns.push_back(number_column(i % 2 == 0 ? ratio_width : head_width));
  }
  return Table(std::move(columns), {.indent = 2,
                                    .gap = 1,
                                    .goes_on_below = number != of_two_runs,
                                    .head_hangs = true,
                                    .elsewhere = "--json"});
}

void write_table(Page& out, const ComparedTable& compared) {
  Table table = columns_of(compared.columns.size());
  const auto add = [&](std::string_view label, const std::vector<std::string>& cells) {
    std::vector<std::string> row{elide(label, label_columns - 1)};
    row.insert(row.end(), cells.begin(), cells.end());
    table.add(std::move(row));
  };
  add(compared.title, compared.columns);
  for (const ComparedTable::Row& row : compared.rows)
    add(std::string(2 * static_cast<std::size_t>(row.depth), ' ') + row.label, row.cells);
  out.headed_table(table);
}

}  // namespace

std::string comparison_table(std::span<const Comparison> comparisons, const PrintStyle& style) {
  const ComparisonReport report = comparison_report(comparisons);
  Page out(style);
  for (const LabelledText& run : report.runs) out.paragraph(in_one_line(run), 0);
  out.heading("differences in the input");
  for (const LabelledText& key : report.keys) out.paragraph(in_one_line(key), 2);
  for (const ComparedTable& table : report.tables) write_table(out, table);
  out.heading("expected error of the comparison");
  for (const LabelledText& row : report.error) out.text_row(row.label, row.text);
  if (!report.ranking.empty()) {
    out.heading("ranking by samples per second");
    for (const LabelledText& row : report.ranking) out.paragraph(row.label + " " + row.text, 2);
  }
  for (const std::string& sentence : report.conclusion) {
    if (&sentence == &report.conclusion.front()) out.line("");
    out.paragraph(sentence, 0);
  }
  return out.text();
}

std::string comparison_table(const Comparison& comparison, const PrintStyle& style) {
  return comparison_table({&comparison, 1}, style);
}

}  // namespace trainyard
