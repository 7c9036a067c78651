#pragma once
// Exchanges between pairs of ranks 1, 2, 4 ... apart, for halving-doubling and recursive doubling.

#include "collectives/plan.hpp"

#include <span>
#include <utility>
#include <vector>

namespace trainyard {

/// The ranks of an all_reduce after folding those beyond a power of two.
struct Folded {
  std::vector<Rank> active;                   ///< a power of two of ranks
  std::vector<std::pair<Rank, Rank>> folded;  ///< folded ranks, each with the active rank it folds into
};

/// Among the first 2r ranks, even ones fold into the next rank; r is the number of ranks beyond a power of
/// two.
Folded folded(std::span<const Rank> group);

/// One round in which every folded rank sends its whole buffer or, at the end, receives the result.
void add_fold(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
              const Folded& ranks, bool is_end);

/// One round in which ranks `distance` apart, counted in `ranks`, send each other `share` of the size.
void add_exchange(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                  std::span<const Rank> ranks, int distance, double share);

}  // namespace trainyard
