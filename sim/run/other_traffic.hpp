#pragma once
// Adds what shares the network with the job to the graph of its step: neighbours, background traffic and link
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
void add_others(const ResolvedExperiment& resolved, const Cluster& cluster, TaskGraph& graph);

/// What a reader of the result should know about them.
std::vector<std::string> notes_on_others(const ResolvedExperiment& resolved);

}  // namespace trainyard
