#include "html/known_errors.hpp"

#include "html/page_files.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace trainyard {

namespace {

constexpr std::array<std::string_view, 4> fits{"nothing", "software", "1gpu", "1node"};

}  // namespace

std::vector<std::vector<std::string>> known_errors(std::string_view csv) {
  CsvProblems problems("known_errors.csv", csv);
  const CsvFile file = parse_csv(csv, problems);
  problems.finish();
  std::vector<std::vector<std::string>> lines;
  for (const CsvRow& row : file.rows) {
    const std::string& family = row.cells.at(0).text;
    const auto* const fit = std::ranges::find(fits, row.cells.at(1).text);
    if (fit == fits.end()) throw std::logic_error("known_errors.csv names an unknown fit");
    if (lines.empty() || lines.back().front() != family) {
      lines.emplace_back(1 + 3 * fits.size());
      lines.back().front() = family;
    }
    const auto first = 1 + 3 * static_cast<std::size_t>(fit - fits.begin());
    for (std::size_t i = 0; i < 3; ++i) lines.back()[first + i] = row.cells.at(2 + i).text;
  }
  return lines;
}

Html known_errors_html(std::string_view of_this) {
  Html html = of_this.empty() ? Html{} : paragraph(of_this);
  html += paragraph(
      "Errors of this program's predictions for published training runs. MAPE is the mean absolute error of "
      "throughputs, p90 the 90th percentile of the absolute errors, both in percent. Runs that were fitted "
      "to are not scored.");
  html += element(
      "ul",
      element("li", "nothing: kernels alone; nothing is fitted to a training run.") +
          element(
              "li",
              "software: kernels are slower by factors fitted to published one-GPU runs of other series.") +
          element(
              "li",
              "1gpu: all kernel times are scaled by one factor so that the published one-GPU run is matched; "
              "runs on more GPUs are predicted.") +
          element("li",
                  "1node: the same with the published run on one node; runs on more nodes are predicted."));
  std::vector<HtmlColumn> columns{{"published runs", true}};
  for (const std::string_view fit : fits)
    columns.insert(columns.end(), {{std::string(fit) + ": runs"}, {"MAPE, %"}, {"p90, %"}});
  HtmlTable table("errors of predictions by family of published runs", std::move(columns));
  for (const std::vector<std::string>& line : known_errors(known_errors_csv)) table.row(line);
  html += table.html();
  html += paragraph(
      "Totals first, then families: groups of similar runs. Incomplete: the source does not say everything "
      "that a prediction needs. Implausible: the run is faulty, or contradicts others of its series. "
      "`trainyard validate` prints every run with its error.");
  return html;
}

}  // namespace trainyard
