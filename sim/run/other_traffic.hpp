#pragma once
// Adds other users of the network to the graph of the job's step: neighbours, background traffic and link
// events.

#include "experiment/resolve.hpp"
#include "platform/cluster.hpp"
#include "schedule/task_graph.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The experiment's events on the links of its cluster.
std::vector<LinkEvent> link_events(const ResolvedExperiment& resolved, const Cluster& cluster);

/// Puts the neighbours' steps, background traffic and link events into the graph of the experiment's step.
void add_other_traffic(const ResolvedExperiment& resolved, const Cluster& cluster, TaskGraph& graph);

/// Notes on this traffic for the reader of the result.
std::vector<std::string> other_traffic_notes(const ResolvedExperiment& resolved);

}  // namespace trainyard
