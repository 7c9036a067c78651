#pragma once
// Sorts groups of ranks by how they lie on their nodes, so that groups that lie alike are planned once.

#include "platform/cluster.hpp"
#include "units/ids.hpp"

#include <vector>

namespace trainyard {

/// Groups are alike if their ranks, one after the other, are on the same GPUs of their nodes and change the
/// node at the same places. Algorithms then treat them alike, rank by rank; only routes between nodes may
/// differ. Returns the groups of each kind, the kinds by their first group.
std::vector<RankGroups> group_kinds(const Cluster& cluster, RankGroups groups);

}  // namespace trainyard
