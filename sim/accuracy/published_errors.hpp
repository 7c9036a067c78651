#pragma once
// How far predictions of published runs were off, as `trainyard validate --errors` writes it
// (workloads/published/errors): one file for each fit. The expected error of a prediction comes from the runs
// most like it (expected_error.hpp). Runs whose ranks share a model are in files of their own
// (layouts_software.csv), with columns for the layout.

#include "accuracy/circumstances.hpp"
#include "accuracy/new_circumstances.hpp"
#include "accuracy/run_change.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A published run and its prediction.
struct PublishedError {
  Circumstances of = {};
  int series = 0;          ///< runs of one series have the same number; of layouts, of one family
  bool is_scored = true;   ///< in the totals of `validate`; the others are comparable runs all the same
  double measured = 0;     ///< samples per second
  double predicted = 0;    ///< samples per second
  std::string place = {};  ///< "dlperf.csv:63"
};

/// The fit whose predictions of one GPU equal the published runs; those are not in the table.
inline constexpr std::string_view one_gpu_fit = "1gpu";

/// The fit whose predictions are of kernels alone.
inline constexpr std::string_view no_fit = "nothing";

struct ExpectedErrorMemo;  // expected_error.hpp

struct PublishedErrors {
  std::string fit = {};  ///< as `validate` names it: "nothing", "software", "1gpu"
  /// Factor on the local intervals with which 80 % of the runs that count lie in theirs (widening_of).
  double widening = 1;
  /// The widening for pairs of runs, by their difference (ratio_widenings).
  NumberByChange ratio_widening = all_ones();
  std::vector<PublishedError> runs = {};
  /// Errors of jobs unlike all runs; not part of the file. Empty: such jobs have the interval of the nearest
  /// runs.
  std::optional<NewCircumstances> new_circumstances = {};
  /// Results of expected_error() for this table (keep_expected_errors); null: none are kept.
  std::shared_ptr<ExpectedErrorMemo> known = {};
};

/// A file called `name`: lines of comments with the fit and the factors ("# widening: 1.05"), and a table.
/// Throws InputError with every problem found.
PublishedErrors read_published_errors(const std::string& name, std::string_view text);

/// The errors as text.
std::string published_errors_text(const PublishedErrors& errors);

/// One job as text, from which read_circumstances() makes it again.
std::string circumstances_text(const Circumstances& of);
Circumstances read_circumstances(const std::string& text);

}  // namespace trainyard
