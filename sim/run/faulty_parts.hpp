#pragma once
// The parts of a job that can fail, and the workers and parameters missing after each fault: ranks, nodes,
// their links, servers.

#include "experiment/resolve.hpp"
#include "run/faulty_job.hpp"

#include <vector>

namespace trainyard {

/// All parts of one kind in the experiment's job, by number: ranks; nodes, first those of ranks, then those
/// of servers; network cards of these nodes, node by node; shards; the job. Losses are counted in workers,
/// which may be nodes, or replicas of a model that ranks share. Throws InputError if the job has no such
/// part.
std::vector<FaultyPart> faulty_parts(const ResolvedExperiment& resolved, FaultyThing of, bool is_planned);

}  // namespace trainyard
