#pragma once
// The expected error of a comparison: the interval of (measured ratio) / (predicted ratio) of two throughputs
// in which 80 % of comparable published pairs lie. It is not the difference of two expected errors, because
// an error of both predictions cancels. The pairs differ in the same property as the two jobs, and are
// those whose ends are nearest to them (expected_error.hpp has the distance). Each series is in one pair at
// most, so that they are independent. A property of one of the two that no run has (new_circumstances.hpp)
// adds its error; a property of both adds only the part that depends on the durations of their kernels.

#include "accuracy/published_pairs.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The error of throughput B over throughput A.
struct RatioError {
  std::vector<RunChange> changes = {};  ///< the properties in which A and B differ
  double low = 0, high = 0;             ///< of (measured ratio) / (predicted ratio) - 1
  int pairs = 0;                        ///< published pairs it comes from, of all changes together
  PublishedError nearest_a = {};        ///< of the pair most like A and B, for the first change
  PublishedError nearest_b = {};
  std::vector<std::string> assumed = {};  ///< keys of assumed inputs whose effect is part of it
};

/// The changes whose pairs an interval of A and B uses: those between them; without any, `gpus`, because then
/// the pairs show how far off communication is while kernel times cancel.
std::vector<RunChange> changes_used(const Circumstances& a, const Circumstances& b);

/// The difference if no property differs: any settings, or only those of communication (links, the network,
/// the algorithm). Then kernel times are the same, as between numbers of GPUs.
enum class OtherChange { settings, communication };

/// Several changes: the squares of the half widths add up, as of independent errors. `pairs` has those of
/// changes_used. Nothing if there are too few. With A and B exchanged, 1 + low becomes 1 / (1 + high).
std::optional<RatioError> ratio_error(const PublishedPairs& pairs, const Circumstances& a,
                                      const Circumstances& b, OtherChange other = OtherChange::settings);

/// The factors on the intervals with which 80 % of the scored pairs of each change lie in theirs, each given
/// by the series of neither run; 1 where there are no pairs.
NumberByChange ratio_widenings(const PublishedErrors& errors);

/// How well these intervals hold.
struct RatioCoverage {
  RunChange change = RunChange::gpus;
  int pairs = 0;
  double covered = 0;         ///< share of the pairs that lie in their intervals
  double half_width = 0;      ///< median, relative to the predicted ratio
  double run_half_width = 0;  ///< median of the wider expected error of the two runs
};

/// By change, in the order of the enumeration; without those that have no pairs.
std::vector<RatioCoverage> ratio_coverage(const PublishedErrors& errors);

}  // namespace trainyard
