#pragma once
// Errors of predictions of published training runs, which ./dev published --update writes into
// known_errors.csv, as a section of a page.

#include "document/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A line for each total and each family, in the order of the file: its name and, for the fits nothing,
/// software, 1gpu and 1node, the number of scored runs, their mean absolute error and its 90th percentile in
/// percent, as printed; empty without runs. Throws InputError if the file has another format.
std::vector<std::vector<std::string>> known_errors(std::string_view csv);

/// Adds their table, totals first, and an explanation of the fits; before it their meaning for this page's
/// figures.
void add_known_errors(doc::Document& page, const std::string& of_this = {});

}  // namespace trainyard
