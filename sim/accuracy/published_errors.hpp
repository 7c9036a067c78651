#pragma once
// How far predictions of published runs were off, as `trainyard validate --errors` writes it
// (workloads/published/errors): one file for each fit. The expected error of a prediction comes from the runs
// most like it (expected_error.hpp).

#include "strategy/software.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The properties that decide how comparable two runs are.
struct Circumstances {
  SoftwareUse use = {};
  std::string platform = {};
  int gpus = 1;
  int nodes = 1;
  int batch_per_gpu = 1;
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

/// A published run and its prediction.
struct PublishedError {
  Circumstances of = {};
  int series = 0;          ///< runs of one series have the same number
  bool is_scored = true;   ///< in the totals of `validate`; the others are comparable runs all the same
  double measured = 0;     ///< samples per second
  double predicted = 0;    ///< samples per second
  std::string place = {};  ///< "dlperf.csv:63"
};

struct PublishedErrors {
  /// Factor on the local intervals with which 80 % of the runs that count lie in theirs (widening_of).
  double widening = 1;
  std::vector<PublishedError> runs;
};

/// A file called `name`: "# widening: 1.05" and a table. Throws InputError with every problem found.
PublishedErrors read_published_errors(const std::string& name, std::string_view text);

/// The same as text.
std::string published_errors_text(const PublishedErrors& errors);

}  // namespace trainyard
