#pragma once
// Errors of predictions of published training runs, which ./dev published --update writes into
// known_errors.csv, as a section of report.html.

#include "html/html.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A line for each total and each family, in the order of the file: its name and, for the fits 1gpu, 1node
/// and nothing, the number of scored runs, their mean absolute error and its 90th percentile in percent, as
/// printed; empty without runs. Throws InputError if the file has another format.
std::vector<std::vector<std::string>> known_errors(std::string_view csv);

/// Their table, totals first, and an explanation of the fits; before it their meaning for this page's
/// figures.
Html known_errors_html(std::string_view of_this = {});

}  // namespace trainyard
