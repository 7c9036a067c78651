#pragma once
// The clocks of a job's profiles: one for each node. Clocks of several nodes are aligned by the ends of
// collectives, which come at nearly the same time on all ranks.

#include "imports/rank_collectives.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// A collective on all ranks that take part, each by its index.
struct JointCollective {
  std::vector<std::pair<std::size_t, const RankCollective*>> parts;
};

struct RankPlace {
  int rank = 0;
  std::string host;  ///< empty if unknown
};

struct RankClocks {
  std::vector<std::int64_t> shifts;  ///< ns to add to the times of each rank
  int count = 1;
  std::int64_t error = 0;  ///< ns: median difference of the ends of a collective on two clocks, once aligned
  std::string contradiction;  ///< why times of ranks do not compare; empty if they do
};

/// Ranks share a clock if they are on a node: `ranks_per_node` consecutive ones, else those of a host, or all
/// if any host is unknown. The first clock stays as it is.
RankClocks align_clocks(const std::vector<JointCollective>& collectives, const std::vector<RankPlace>& places,
                        const std::optional<int>& ranks_per_node);

}  // namespace trainyard
