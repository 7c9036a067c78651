#pragma once
// Cuts a pipeline into groups of edges that follow one another, so that each can be one flow: where a
// pipeline shares links with others, its first edges are busy long before its last.

#include "collectives/collective.hpp"

#include <vector>

namespace trainyard::engine {

struct EdgeGroup {
  int levels = 0;             ///< edges on the longest way through it
  std::vector<LinkUse> uses;  ///< of its edges
};

/// The edges of a pattern by level (1 + the highest level among those they pass on), cut into at most `most`
/// groups of about equally many levels. One group of level 0 for a pattern without edges.
std::vector<EdgeGroup> pipeline_groups(const Pattern& pattern, int most);

}  // namespace trainyard::engine
