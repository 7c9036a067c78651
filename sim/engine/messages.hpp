#pragma once
// Properties of patterns for the message-by-message simulation: a route for every edge, which edges pass on
// an edge's data, and which edges end at a rank.

#include "collectives/flat_lists.hpp"
#include "schedule/task_graph.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace trainyard::engine {

/// The network with a route for every edge of every phase, and a private link for each phase with a limit.
struct MessageRoutes {
  std::vector<Bandwidth> links;
  std::vector<std::vector<int>> routes;
  std::vector<int> first_of_phase;  ///< by phase, over all collectives: the route of its edge 0
};

/// Throws InputError for patterns without edges: their messages cannot be sent one by one.
MessageRoutes message_routes(const TaskGraph& graph);

/// By edge: the edges that pass on its data.
FlatLists passing_on(const Pattern& pattern);

/// By rank: the edges on which it sends or receives; an edge from a rank to itself is listed twice.
FlatLists edges_of_ranks(const Pattern& pattern, int ranks);

}  // namespace trainyard::engine
