#pragma once
// Counts all messages from every rank to every rank on another node without looking at each pair: routes from
// one switch of the fabric to another use the same links for all ranks below the two switches.

#include "collectives/plan.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace trainyard {

/// Receives parts of routes with the number of messages on each, which together make up all routes, and the
/// longest route from switch to switch.
struct TrafficListener {
  std::function<void(std::span<const LinkId>, std::int64_t messages)> add_links;
  std::function<void(const RouteSummary&)> note_way;
};

/// Ranks use their nearest NICs, as in append_route(). Throws Unreachable if some ranks cannot reach each
/// other.
void count_traffic_between_nodes(const Cluster& cluster, const std::vector<NodeShare>& shares,
                                 const TrafficListener& listener);

/// Counts the traffic of each pair of switches, also where the fabric has a formula: the reference for tests.
void count_traffic_pairwise(const Cluster& cluster, const std::vector<NodeShare>& shares,
                            const TrafficListener& listener);

}  // namespace trainyard
