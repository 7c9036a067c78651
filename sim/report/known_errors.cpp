#include "report/known_errors.hpp"

#include "report/known_errors_file.hpp"
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

void add_known_errors(doc::Document& page, const std::string& of_this) {
  doc::Section& section = page.section("errors", "known errors of predictions");
  if (!of_this.empty()) section.add(doc::Sentence{of_this});
  section.add(doc::Sentence{
      "Errors of this program's predictions for published training runs. MAPE is the mean absolute error of "
      "throughputs, p90 the 90th percentile of the absolute errors, both in percent. Runs that were fitted "
      "to are not scored."});
  section.add(doc::List{
      .items = {
          {"nothing", "kernels alone; nothing is fitted to a training run."},
          {"software", "kernels are slower by factors fitted to published one-GPU runs of other series."},
          {"1gpu",
           "all kernel times are scaled by one factor so that the published one-GPU run is matched; runs on "
           "more GPUs are predicted."},
          {"1node", "the same with the published run on one node; runs on more nodes are predicted."}}});
  doc::Table table{.key = "known_errors",
                   .title = "errors of predictions by family of published runs",
                   .columns = {{.head = "published runs"}}};
  for (const std::string_view fit : fits)
    for (const std::string& head :
         {std::string(fit) + ": runs", std::string("MAPE, %"), std::string("p90, %")})
      table.columns.push_back({.head = head, .layout = number_column()});
  for (const std::vector<std::string>& line : known_errors(known_errors_csv))
    table.rows.push_back({.cells = {line.begin(), line.end()}});
  section.add(std::move(table));
  section.add(doc::Sentence{
      "Totals first, then families: groups of similar runs. Incomplete: the source does not say everything "
      "that a prediction needs. Implausible: the run is faulty, or contradicts others of its series. "
      "`trainyard validate` prints every run with its error."});
}

}  // namespace trainyard
