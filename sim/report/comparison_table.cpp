#include "report/comparison_table.hpp"

#include "report/comparison_report.hpp"
#include "report/page.hpp"
#include "report/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

constexpr std::size_t label_columns = 24;
constexpr std::size_t ratio_width = 9;  ///< "0.0405 x", "-35.3 %"

/// Indices of the columns of one block.
using Block = std::vector<std::size_t>;

/// Two runs fill one block. Of more runs each block has the first, and value and ratio of two others.
std::vector<Block> blocks_of(std::size_t columns) {
  constexpr std::size_t of_two_runs = 4;
  if (columns == of_two_runs) return {{0, 1, 2, 3}};
  std::vector<Block> blocks;
  for (std::size_t column = 1; column < columns; ++column) {
    if (column % of_two_runs == 1) blocks.push_back({0});
    blocks.back().push_back(column);
  }
  return blocks;
}

/// As wide as the widest usual number.
std::size_t width_of(std::size_t column, std::size_t columns) {
  constexpr std::size_t widths_of_two_runs[] = {head_width, head_width, 18, 13};
  if (columns == std::size(widths_of_two_runs)) return widths_of_two_runs[column];
  return column > 0 && column % 2 == 0 ? ratio_width : head_width;
}

std::string line_of(std::string_view label, const std::vector<std::string>& cells, const Block& block) {
  std::string line = fmt::format("{:<{}}", elide(label, label_columns - 1), label_columns);
  for (const std::size_t column : block)
    line += fmt::format(" {:>{}}", cells[column], width_of(column, cells.size()));
  return line;
}

void write_table(Page& out, const ComparedTable& table) {
  for (const Block& block : blocks_of(table.columns.size())) {
    out.heading(line_of(table.title, table.columns, block));
    for (const ComparedTable::Row& row : table.rows) {
      const std::string label = std::string(2 * static_cast<std::size_t>(row.depth), ' ') + row.label;
      out.line("  " + (row.cells.empty() ? label : line_of(label, row.cells, block)));
    }
  }
}

}  // namespace

std::string comparison_table(std::span<const Comparison> comparisons, bool colour) {
  const ComparisonReport report = comparison_report(comparisons);
  Page out(colour);
  for (const LabelledText& run : report.runs) out.paragraph(fmt::format("{}: {}", run.label, run.text), 0);
  out.heading("differences in the input");
  for (const LabelledText& key : report.keys)
    out.paragraph(key.label.empty() ? key.text : fmt::format("{}: {}", key.label, key.text), 2);
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

std::string comparison_table(const Comparison& comparison, bool colour) {
  return comparison_table({&comparison, 1}, colour);
}

}  // namespace trainyard
