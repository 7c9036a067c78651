#pragma once
// Exchanges between pairs of ranks 1, 2, 4 ... apart: what halving-doubling and recursive doubling share.

#include "collectives/plan.hpp"

#include <span>
#include <utility>
#include <vector>

namespace trainyard {

/// The ranks of an all_reduce once those beyond a power of two are folded away.
struct Folded {
  std::vector<Rank> active;                   ///< a power of two of them
  std::vector<std::pair<Rank, Rank>> folded;  ///< who is folded, and into which active rank
};

/// Of the first 2r ranks the even ones fold into the next, r being the ranks beyond a power of two.
Folded folded(std::span<const Rank> group);

/// One round in which every rank that is folded sends all of its buffer, or in the end gets the result.
void add_fold(CollectivePlan& plan, const Cluster& cluster, const Costs& costs, const Folded& ranks,
              bool is_end);

/// One round in which every rank and that `distance` apart, counted in `ranks`, send each other `share` of
/// the size.
void add_exchange(CollectivePlan& plan, const Cluster& cluster, const Costs& costs,
                  std::span<const Rank> ranks, int distance, double share);

}  // namespace trainyard
