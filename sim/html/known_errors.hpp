#pragma once
// Errors of predictions of published training runs, which tests/validation/results.py writes into
// known_errors.csv, as a section of report.html.

#include "html/html.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// For one protocol: the number of scored runs and their absolute errors in percent, as printed.
struct KnownError {
  std::string rows, mape, p90;
};

/// Errors of several runs: a family (line of the table), or a total.
struct KnownErrors {
  std::string family;
  std::optional<KnownError> one_gpu, one_node, nothing;
};

/// In the order of the file. Throws InputError if the file has another format.
std::vector<KnownErrors> known_errors(std::string_view csv);

/// Their table, totals first, and an explanation of the protocols; before it their meaning for this page's
/// figures.
Html known_errors_html(std::string_view of_this = {});

}  // namespace trainyard
