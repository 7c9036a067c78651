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
  if (protocol == "spec") return errors.spec;
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
      found = all.insert(all.end(), KnownErrors{.family = family, .one_gpu = {}, .one_node = {}, .spec = {}});
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
      "How far predictions of this kind were off: published training runs against what this program says of "
      "them. "
      "MAPE is the mean absolute error of throughputs, p90 the 90th percentile of the absolute errors, both "
      "in "
      "percent. A run that a prediction was fitted to is not among its rows.");
  html += element(
      "ul",
      element("li",
              "1gpu: one scale of all kernels is fitted to the run of the same series on one GPU; more "
              "GPUs are predicted.") +
          element("li", "1node: the same, fitted to the run on one node; more nodes are predicted.") +
          element("li",
                  "spec: nothing is fitted to any training run, as in a run of an experiment whose stack "
                  "was not calibrated."));
  HtmlTable table("errors of predictions by family of published runs", {{"published runs", true},
                                                                        {"1gpu: runs"},
                                                                        {"MAPE, %"},
                                                                        {"p90, %"},
                                                                        {"1node: runs"},
                                                                        {"MAPE, %"},
                                                                        {"p90, %"},
                                                                        {"spec: runs"},
                                                                        {"MAPE, %"},
                                                                        {"p90, %"}});
  for (const KnownErrors& errors : known_errors(known_errors_csv)) {
    std::vector<std::string> cells{errors.family};
    add_cells(cells, errors.one_gpu);
    add_cells(cells, errors.one_node);
    add_cells(cells, errors.spec);
    table.row(cells);
  }
  html += table.html();
  html += paragraph(
      "Totals first, then families of runs of one source. Partial: the source is clean in part. R7 and R8 "
      "leave out runs "
      "whose own figures contradict each other. `trainyard validate` prints every run with its error.");
  return html;
}

}  // namespace trainyard
