#pragma once
// Links that change during the run: their events, and the error for a job that cannot end because a link
// failed.

#include "engine/flow_network.hpp"
#include "engine/replay.hpp"

#include <vector>

namespace trainyard::engine {

/// A calendar with the graph's link events. Throws InputError for a link, date or bandwidth that cannot
/// exist.
Calendar calendar_of_links(const TaskGraph& graph);

/// Throws JobImpossible if job 0 has not ended and a waiting collective crosses a link that has failed for
/// good.
void check_failed_links(const TaskGraph& graph, const Replay& replay);

}  // namespace trainyard::engine
