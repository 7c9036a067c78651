#include "html/known_errors.hpp"

#include "html/page_files.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <stdexcept>

namespace trainyard {

namespace {

enum ErrorColumn { family_column, protocol_column, rows_column, mape_column, p90_column };

std::optional<KnownError>& of_protocol(KnownErrors& errors, std::string_view protocol) {
  if (protocol == "1gpu") return errors.one_gpu;
  if (protocol == "1node") return errors.one_node;
  if (protocol == "nothing") return errors.nothing;
  throw std::logic_error("known_errors.csv names an unknown protocol");
}

void add_cells(std::vector<std::string>& cells, const std::optional<KnownError>& error) {
  cells.push_back(error ? error->rows : "");
  cells.push_back(error ? error->mape : "");
  cells.push_back(error ? error->p90 : "");
}

}  // namespace

std::vector<KnownErrors> known_errors(std::string_view csv) {
  CsvProblems problems("known_errors.csv", csv);
  const CsvFile file = parse_csv(csv, problems);
  problems.finish();
  std::vector<KnownErrors> all;
  for (const CsvRow& row : file.rows) {
    const std::string& family = row.cells.at(family_column).text;
    auto found = std::ranges::find(all, family, &KnownErrors::family);
    if (found == all.end())
      found = all.insert(all.end(), KnownErrors{.family = family, .one_gpu = {}, .one_node = {}, .nothing = {}});
    of_protocol(*found, row.cells.at(protocol_column).text) =
        KnownError{.rows = row.cells.at(rows_column).text,
                   .mape = row.cells.at(mape_column).text,
                   .p90 = row.cells.at(p90_column).text};
  }
  return all;
}

Html known_errors_html(std::string_view of_this) {
  Html html = of_this.empty() ? Html{} : paragraph(of_this);
  html += paragraph(
      "Errors of this program's predictions for published training runs. MAPE is the mean absolute error of "
      "throughputs, p90 the 90th percentile of the absolute errors, both in percent. Runs that were fitted "
      "to are not scored.");
  html += element(
      "ul",
      element("li",
              "1gpu: all kernel times are scaled by one factor so that the published one-GPU run is matched; "
              "runs on more GPUs are predicted.") +
          element("li",
                  "1node: the same with the published run on one node; runs on more nodes are predicted.") +
          element("li",
                  "nothing: nothing is fitted to a training run, as in an experiment whose stack was not "
                  "calibrated."));
  HtmlTable table("errors of predictions by family of published runs", {{"published runs", true},
                                                                        {"1gpu: runs"},
                                                                        {"MAPE, %"},
                                                                        {"p90, %"},
                                                                        {"1node: runs"},
                                                                        {"MAPE, %"},
                                                                        {"p90, %"},
                                                                        {"nothing: runs"},
                                                                        {"MAPE, %"},
                                                                        {"p90, %"}});
  for (const KnownErrors& errors : known_errors(known_errors_csv)) {
    std::vector<std::string> cells{errors.family};
    add_cells(cells, errors.one_gpu);
    add_cells(cells, errors.one_node);
    add_cells(cells, errors.nothing);
    table.row(cells);
  }
  html += table.html();
  html += paragraph(
      "Totals first, then families: groups of similar runs. Incomplete: the source does not say everything "
      "that a prediction needs. Implausible: the run is faulty, or contradicts others of its series. "
      "`trainyard validate` prints every run with its error.");
  return html;
}

}  // namespace trainyard
