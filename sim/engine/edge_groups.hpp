#pragma once
// cuts a chunked phase into groups of edges that follow one another, so that each group can be one flow: if
// such a phase shares links with others, it matters that its first edges are busy long before its last.

#include "collectives/collective.hpp"

#include <vector>

namespace trainyard::engine {

struct EdgeGroup {
  int levels = 0;             ///< edges on the longest path through the group
  std::vector<LinkUse> uses;  ///< links of its edges
};

/// The edges of a pattern by level (1 + the highest level among those they pass on), cut into at most `most`
/// groups with about the same number of levels. One group with 0 levels for a pattern without edges.
std::vector<EdgeGroup> edge_groups(const Pattern& pattern, int most);

}  // namespace trainyard::engine
