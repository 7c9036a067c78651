#pragma once
// A job on a network that it does not have for itself: the experiment's neighbours, background traffic and
// link events, placed on one cluster.

#include "platform/cluster.hpp"
#include "schedule/task_graph.hpp"
#include "study/setup.hpp"

#include <vector>

namespace trainyard {

/// The nodes of the experiment, then those of each neighbour, then as many as background traffic names
/// besides. The experiment's ranks come first and have the numbers they would have alone.
Cluster shared_cluster(const Inputs& inputs);

/// Whether there are any.
bool has_others(const Inputs& inputs);

/// Throw InputError for an end of background traffic, or a link of an event, that does not exist.
void check_background(const Inputs& inputs);
void check_events(const Inputs& inputs);

/// The experiment's events on the links of its cluster.
std::vector<LinkEvent> link_events(const Inputs& inputs, const Cluster& cluster);

/// Puts the neighbours' steps, background traffic and link events into the graph of the experiment's step.
void add_others(const Inputs& inputs, const Cluster& cluster, TaskGraph& graph);

/// What a reader of the result should know about them.
std::vector<std::string> notes_on_others(const Inputs& inputs);

}  // namespace trainyard
