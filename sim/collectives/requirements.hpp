#pragma once
// Which algorithm can carry out which operation on which group of ranks, in one place: so that who asks for
// one that cannot is told which could.

#include "collectives/plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Why an algorithm cannot carry out the request; empty if it can. Looks at counts, and at the channels where
/// NVLinks may hold no ring.
std::string objection(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm);

/// All that can, in the order of the list of algorithms.
std::vector<Algorithm> possible_algorithms(const Cluster& cluster, const CollectiveRequest& request);

/// Throws InputError if the counts of the group or the operation are not for the algorithm, with the
/// algorithms that could as its hint. Whether NVLinks hold a ring is left to who looks for one.
void require(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm);

/// Throws the same for a reason of the caller's.
[[noreturn]] void refuse(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm,
                         const std::string& reason);

/// The reason where NVLinks hold only a chain.
std::string no_ring(std::size_t gpus);

}  // namespace trainyard
