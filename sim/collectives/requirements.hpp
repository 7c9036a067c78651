#pragma once
// Which algorithm can carry out which operation on which group of ranks, so that errors can list the possible
// ones.

#include "collectives/plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Whether an algorithm carries out an operation on any ranks at all; automatic does.
bool carries_out(Algorithm algorithm, Operation operation);

/// Why an algorithm cannot carry out the request; empty if it can. Checks counts, and channels if NVLinks may
/// form no ring.
std::string objection(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm);

/// All algorithms that can, in the order of their table.
std::vector<Algorithm> possible_algorithms(const Cluster& cluster, const CollectiveRequest& request);

/// Throws InputError if the algorithm does not support the operation or the group's counts; the hint lists
/// the possible algorithms. Whether NVLinks form a ring is checked by the search for rings.
void require(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm);

/// Throws the same error with the caller's reason.
[[noreturn]] void refuse(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm,
                         const std::string& reason);

/// The reason if NVLinks form only a chain.
std::string no_ring(std::size_t gpus);

}  // namespace trainyard
