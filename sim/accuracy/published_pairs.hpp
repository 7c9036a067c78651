#pragma once
// Pairs of published runs that differ in one property, from one publication: what is known about errors of
// comparisons. error = log((measured_b / measured_a) / (predicted_b / predicted_a)).

#include "accuracy/published_errors.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Runs by their indices; where the property has an order, `a` comes first in it.
struct RunPair {
  std::size_t a = 0, b = 0;
  double error = 0;    ///< above 0: published runs gained more by going from a to b than predicted
  double octaves = 0;  ///< log2 of b over a, of GPUs or batch; 0 for other changes
};

struct PublishedPairs {
  /// The runs of the errors. After them, for a fit to one GPU, the run on one GPU of each series, which is
  /// predicted exactly and part of pairs of other numbers of GPUs only.
  std::vector<PublishedError> runs = {};
  /// By change; `gpus` within a series, the others within a publication. `settings`: runs that differ in none
  /// of the properties. `several` has no pairs here.
  std::array<std::vector<RunPair>, change_count> by_change = {};
  NumberByChange widening = all_ones();
  std::string fit = {};  ///< that of the errors, likewise the next
  std::optional<NewCircumstances> new_circumstances = {};
};

/// The pairs of these changes; the others stay empty.
PublishedPairs published_pairs(const PublishedErrors& errors, const std::vector<RunChange>& changes);

/// A pair of the run `a` and `b`, its ends in the order of the change.
RunPair run_pair(const PublishedPairs& pairs, RunChange change, std::size_t a, std::size_t b);

/// log2 of b over a, of the property that changes; 0 where it has no such number.
double octaves_between(RunChange change, const Circumstances& a, const Circumstances& b);

/// Whether the property has an order, as GPUs and batch have, and b comes before a in it.
bool is_reversed(RunChange change, const Circumstances& a, const Circumstances& b);

/// "dlperf.csv": the file of a run's row.
std::string_view publication_of(const PublishedError& run);

}  // namespace trainyard
