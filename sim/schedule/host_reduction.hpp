#pragma once
// Reductions between nodes in host memory (stack key host_reduction): the copies and sums around a collective
// whose messages the library sends from host to host.

#include "platform/cluster.hpp"
#include "schedule/launches.hpp"
#include "strategy/stack.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// If `ranks` are on several nodes: before each reduction of `launches` a copy of its data from a GPU to the
/// host, after it the sums of one core and a copy back, one after the other. With p nodes each adds (p - 1) /
/// p of the data to its own (halving and doubling, rings). Source: Goyal et al. 2017, arXiv 1706.02677,
/// section 4: one buffer for each server, summed across servers; Gloo's host workspaces. Returns for how long
/// the sums of a step keep a core of each node busy; zero on one node. Throws InputError if
/// the platform does not describe a way from its GPUs to a CPU.
Seconds reduce_on_hosts(const HostReduction& rules, const Cluster& cluster, std::span<const Rank> ranks,
                        std::vector<Launch>& launches);

}  // namespace trainyard
