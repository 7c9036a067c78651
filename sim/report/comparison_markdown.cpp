// A comparison as Markdown, for a comment on a pull request.

#include "report/comparison_report.hpp"
#include "report/comparison_table.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>

namespace trainyard {

namespace {

/// Characters that Markdown would read as markup are escaped; names with '_' inside stay as they are.
std::string in_markdown(std::string_view text) {
  constexpr std::string_view special = "\\`*|<[]~#&";
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

void add_table_row(std::string& text, const std::string& label, const std::vector<std::string>& cells) {
  text += fmt::format("| {} |", label);
  for (const std::string& cell : cells) text += fmt::format(" {} |", cell);
  text += '\n';
}

std::string table_text(const ComparedTable& table) {
  std::string text;
  std::vector<std::string> heads;
  for (const std::string& head : table.columns) heads.push_back(in_markdown(head));
  add_table_row(text, "", heads);
  add_table_row(text, "---", std::vector<std::string>(table.columns.size(), "---:"));
  for (const ComparedTable::Row& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row.cells) cells.push_back(in_markdown(cell));
    cells.resize(table.columns.size());
    std::string indent;
    for (int i = 0; i < row.depth; ++i) indent += "&nbsp;&nbsp;";
    add_table_row(text, indent + in_markdown(row.label), cells);
  }
  return text;
}

void add_list(std::string& text, std::string_view title, const std::vector<LabelledText>& items) {
  text += fmt::format("\n#### {}\n\n", title);
  for (const LabelledText& item : items)
    text += item.label.empty() ? fmt::format("- {}\n", in_markdown(item.text))
                               : fmt::format("- {}: {}\n", in_markdown(item.label), in_markdown(item.text));
}

}  // namespace

std::string comparison_markdown(std::span<const Comparison> comparisons) {
  const ComparisonReport report = comparison_report(comparisons);
  std::string text;
  for (const std::string& sentence : report.conclusion)
    text += fmt::format("{}**{}**\n", text.empty() ? "" : "\n", in_markdown(sentence));
  if (!report.ranking.empty()) {
    text += "\n#### Ranking by samples per second\n\n";
    for (const LabelledText& row : report.ranking)
      text += fmt::format("{} {}\n", row.label, in_markdown(row.text));
  }
  add_list(text, "Runs", report.runs);
  add_list(text, "Differences in the input", report.keys);
  for (const ComparedTable& table : report.tables) {
    std::string title = table.title;
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    text += fmt::format("\n#### {}\n\n{}", title, table_text(table));
  }
  add_list(text, "Expected error of the comparison", report.error);
  return text;
}

}  // namespace trainyard
