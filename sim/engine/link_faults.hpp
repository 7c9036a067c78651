#pragma once
// Links that change during the run: what they do to the network, and what to say of a job that cannot end
// because one has failed.

#include "engine/replay.hpp"
#include "engine/simgrid_network.hpp"

#include <vector>

namespace trainyard::engine {

/// Enters the graph's link events into the calendar. Throws InputError on one that no engine could carry out.
void enter_link_events(const TaskGraph& graph, Calendar& calendar);

/// Throws LinkFailed if job 0 has not ended, a link has failed for good and a collective that waits crosses
/// it.
void check_failed_links(const TaskGraph& graph, const Replay& replay);

}  // namespace trainyard::engine
