#pragma once
// All messages from every rank to every rank on another node, counted without looking at each pair: ways from
// one switch of the fabric to another use the same links, whoever sends below the one and receives below the
// other.

#include "collectives/plan.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace trainyard {

/// What is told of the ways: parts of them and how many messages take each, so that together they are all
/// ways; and the longest from switch to switch.
struct TrafficListener {
  std::function<void(std::span<const LinkId>, std::int64_t messages)> add_links;
  std::function<void(const RouteSummary&)> note_way;
};

/// Ranks talk through their nearest NICs, as append_route() has it. Throws Unreachable if some ranks cannot
/// reach each other.
void count_traffic_between_nodes(const Cluster& cluster, const std::vector<NodeShare>& shares,
                                 const TrafficListener& listener);

}  // namespace trainyard
