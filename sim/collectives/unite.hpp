#pragma once
// Plans of different groups, carried out at the same time, as one plan.

#include "collectives/plan.hpp"

#include <vector>

namespace trainyard {

/// Whether the plans have the same algorithm and protocol, and phases that agree in their numbers of
/// messages, hops and share of the size.
bool can_unite(const CollectivePlan& one, const CollectivePlan& other);

/// One plan whose patterns have the edges of all; at least one plan, of which can_unite() holds, each with
/// `paces`. A phase has the largest latency, and the limit of all edges together.
CollectivePlan unite(const Cluster& cluster, std::vector<CollectivePlan> plans);

}  // namespace trainyard
