#pragma once
// How far predictions of published training runs were off, which tests/validation/results.py writes into
// known_errors.csv, as a section of report.html.

#include "html/html.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Of one protocol: how many runs it scored and their absolute errors in percent, as they are printed.
struct KnownError {
  std::string rows, mape, p90;
};

/// Runs put together: a family, or a total.
struct KnownErrors {
  std::string family;
  std::optional<KnownError> one_gpu, one_node, spec;
};

/// In the order of the file. Throws InputError if it is no such file.
std::vector<KnownErrors> known_errors(std::string_view csv);

/// Their table, totals first, and what the protocols mean; before it what they say of this page's figures.
Html known_errors_html(std::string_view of_this = {});

}  // namespace trainyard
