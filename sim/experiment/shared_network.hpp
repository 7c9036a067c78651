#pragma once
// The cluster of a job that shares its network: the experiment's neighbours, background traffic and link
// events, placed on one machine and checked.

#include "experiment/resolved_experiment.hpp"
#include "platform/cluster.hpp"

#include <memory>
#include <string>

namespace trainyard {

/// The nodes of the experiment, then those of each neighbour, then those that only background traffic names.
/// The experiment's ranks come first and have the same numbers as alone.
std::shared_ptr<const Cluster> shared_cluster(const ResolvedExperiment& resolved);

/// The rank of "node3" or "node3.gpu2", an end of background traffic. Throws InputError.
Rank rank_named(const Cluster& cluster, const std::string& name);

/// Throws InputError for a link that the cluster does not have.
LinkId link_named(const Cluster& cluster, const std::string& name);

/// True if the job has neighbours, background traffic or link events.
bool has_other_traffic(const ResolvedExperiment& resolved);

/// Throw InputError for an end of background traffic, or a link of an event, that does not exist.
void check_background(const ResolvedExperiment& resolved);
void check_events(const ResolvedExperiment& resolved);

}  // namespace trainyard
