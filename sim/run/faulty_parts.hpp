#pragma once
// What of a job can fail, and what goes with it: ranks, nodes, their links, servers.

#include "experiment/resolve.hpp"
#include "run/faulty_job.hpp"

#include <vector>

namespace trainyard {

/// All things of a kind in the experiment's job, by number: ranks; nodes, those of servers after those of
/// ranks; network cards of these nodes, node by node; shards. What goes with them is counted in workers,
/// which may be nodes. Throws InputError if there are none.
std::vector<FaultyPart> faulty_parts(const ResolvedExperiment& resolved, FaultyThing of);

}  // namespace trainyard
