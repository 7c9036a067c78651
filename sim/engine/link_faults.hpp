#pragma once
// Links that change during the run: their events, and the error for a job that cannot end because a link
// failed.

#include "engine/replay.hpp"
#include "engine/simgrid_network.hpp"

#include <vector>

namespace trainyard::engine {

/// Enters the graph's link events into the calendar. Throws InputError for a link, date or bandwidth that
/// cannot exist.
void enter_link_events(const TaskGraph& graph, Calendar& calendar);

/// Throws JobImpossible if job 0 has not ended and a waiting collective crosses a link that has failed for
/// good.
void check_failed_links(const TaskGraph& graph, const Replay& replay);

}  // namespace trainyard::engine
