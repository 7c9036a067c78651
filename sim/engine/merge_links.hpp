#pragma once
// Links of one capacity that every pattern (or part of one) uses equally often carry the same at every
// moment: one stands for all. Exact for max-min sharing, and the solver's cost no longer grows with the
// cluster.

#include "schedule/task_graph.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// A link is on a pattern's route as often as it weighs. Only ratios matter, so weights are small: a
/// pattern's flow carries `unit` edges' bytes, and a link's capacity is that of the real one times its
/// `scale`.
struct MergedLinks {
  std::vector<Bandwidth> links;
  std::vector<double> scales;            ///< of each link
  std::vector<std::vector<int>> routes;  ///< of each pattern: the union of its edges' links
  std::vector<double> units;             ///< of each pattern
  std::vector<int> of_event;  ///< for each of the graph's link events its merged link; -1: nothing crosses it
};

/// `uses`: of each pattern. A link with events of its own stays alone. Ratios of weights are
/// exact where a link's weights add up to no more than 4,096, else within one part in 4,096 of the largest.
MergedLinks merge_links(const TaskGraph& graph, std::span<const std::span<const LinkUse>> uses);

}  // namespace trainyard::engine
