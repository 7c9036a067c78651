#pragma once
// The interval that `run` prints as the expected error of a published run, and whether the run lies in it.
// Both come from the errors that are shipped, never from the rows that are being validated: what a row's
// interval is does not depend on the other rows of a file.

#include "accuracy/expected_error.hpp"
#include "published/published_data.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trainyard {

/// An interval and what it is about.
struct RunInterval {
  double ratio = 0;            ///< measured / predicted - 1
  ExpectedError printed = {};  ///< as `run` prints it
  std::optional<ExpectedError> held_out =
      {};  ///< without the shipped errors of the run's own series, or of its family if
           ///< ranks share the model; nothing if too few are left
};

bool is_inside(const RunInterval& run);
bool is_inside_held_out(const RunInterval& run);

/// How well the intervals of some runs hold.
struct IntervalCoverage {
  int runs = 0;
  double covered = 0;     ///< share of the runs that lie in the interval that `run` prints
  double half_width = 0;  ///< median, relative to the predicted throughput
  int held_out_runs = 0;  ///< those that have an interval without their series
  double held_out_covered = 0, held_out_half_width = 0;
};

/// Of runs that have intervals: some at least.
IntervalCoverage coverage_of(const std::vector<const RunInterval*>& runs);

/// By family in the order of the rules, then that of all runs under an empty name; empty without runs.
using CoverageByFamily = std::vector<std::pair<std::string, IntervalCoverage>>;
CoverageByFamily coverage_by_family(const std::vector<FamilyRule>& rules,
                                    const std::vector<std::pair<std::string, const RunInterval*>>& runs);

/// "dlperf.csv:63", as tables of errors name a row.
std::string place_of(const PublishedRow& row);

/// The rows that are shipped: those to look up in if a user's are validated, otherwise the rows themselves.
const std::vector<PublishedRow>& shipped_rows(const PublishedData& data);

/// The numbers of series in a shipped table by whatever tells series apart in rows; `key_of` gives nothing
/// for a row without a series.
template <class Key>
std::map<Key, int> shipped_series(const PublishedErrors& shipped, const PublishedData& data,
                                  const std::function<std::optional<Key>(const PublishedRow&)>& key_of) {
  std::map<std::string, int> by_place;
  for (const PublishedError& run : shipped.runs) by_place.emplace(run.place, run.series);
  std::map<Key, int> numbers;
  for (const PublishedRow& row : shipped_rows(data)) {
    const auto number = by_place.find(place_of(row));
    if (number == by_place.end()) continue;
    if (const std::optional<Key> key = key_of(row)) numbers.emplace(*key, number->second);
  }
  return numbers;
}

}  // namespace trainyard
