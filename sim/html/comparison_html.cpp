#include "html/comparison_html.hpp"

#include "html/html_page.hpp"
#include "html/known_errors.hpp"
#include "report/comparison_report.hpp"

#include <fmt/format.h>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

Html compared_html(const ComparedTable& table) {
  std::vector<HtmlColumn> heads{{table.title, true}};
  for (const std::string& head : table.columns) heads.push_back({head});
  HtmlTable html(table.title, std::move(heads));
  for (const ComparedTable::Row& row : table.rows) {
    std::vector<std::string> cells = row.cells;
    cells.resize(table.columns.size());
    std::string indent;
    for (int i = 0; i < row.depth; ++i) indent += "\u2003";
    cells.insert(cells.begin(), indent + row.label);
    html.row(cells);
  }
  return html.html();
}

Html labelled_html(const std::string& name, const std::vector<LabelledText>& texts) {
  HtmlTable html(name, {{"", true}, {"", true}});
  for (const LabelledText& text : texts) html.row(text.label, text.text);
  return html.html();
}

Html keys_html(const std::vector<LabelledText>& keys) {
  std::vector<std::string> texts;
  for (const LabelledText& key : keys) texts.push_back(in_one_line(key));
  return list_of(texts);
}

Html in_short(const ComparisonReport& report) {
  Html html;
  if (!report.ranking.empty()) html += labelled_html("ranking by samples per second", report.ranking);
  return html + list_of(report.conclusion);
}

}  // namespace

std::string comparison_html(std::span<const Comparison> comparisons, const std::string& version) {
  const ComparisonReport report = comparison_report(comparisons);
  const HtmlPage page{.title = fmt::format("Comparison of {} runs", report.runs.size()),
                      .lead = {},
                      .sections = {{"answer", "In short", in_short(report)},
                                   {"runs", "Runs", labelled_html("runs", report.runs)},
                                   {"input", "Differences in the input", keys_html(report.keys)},
                                   {"figures", "Side by side", compared_html(report.tables.at(0))},
                                   {"parts", "Step time by part", compared_html(report.tables.at(1))},
                                   {"trust", "Expected error of the comparison",
                                    labelled_html("expected error of the comparison", report.error)},
                                   {"errors", "Known errors of predictions", known_errors_html()}},
                      .version = version};
  return html_text(page);
}

}  // namespace trainyard
