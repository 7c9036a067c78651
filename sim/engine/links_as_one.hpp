#pragma once
// Links of the same capacity that every pattern (or part of one) uses equally often carry the same traffic at
// every moment, so one of them stands for all. Exact for max-min sharing; the solver's cost no longer grows
// with the cluster.

#include "schedule/task_graph.hpp"

#include <span>
#include <vector>

namespace trainyard::engine {

/// A pattern's route names a link once per unit of weight. Only ratios matter, so weights are small: a
/// pattern's flow carries the bytes of `unit` edges, and the capacity of a link is that of the real one times
/// `scale`.
struct LinksAsOne {
  std::vector<Bandwidth> links;
  std::vector<double> scales;            ///< by link
  std::vector<std::vector<int>> routes;  ///< by pattern: the union of the links of all edges
  std::vector<double> units;             ///< by pattern
  std::vector<int> of_event;  ///< by link event of the graph: the merged link; -1: no pattern uses it
};

/// `uses`: by pattern. A link with events is not merged. Ratios of weights are exact if a link's weights add
/// up to at most 4,096; otherwise they are within one part in 4,096 of the largest.
LinksAsOne links_as_one(const TaskGraph& graph, std::span<const std::span<const LinkUse>> uses);

}  // namespace trainyard::engine
