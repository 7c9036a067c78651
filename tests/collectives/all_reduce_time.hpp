#pragma once
// All-reduces of a cluster for the tests of this folder.

#include "collectives/all_reduce.hpp"

#include <vector>

namespace trainyard {

inline std::vector<Bandwidth> all_capacities(const Cluster& cluster) {
  std::vector<Bandwidth> capacities;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link) {
    capacities.push_back(capacity(cluster, LinkId{link}));
  }
  return capacities;
}

/// By formula: alone on the network.
inline Seconds all_reduce_time(const Cluster& cluster, Bytes size) {
  const AllReducePlan plan = plan_all_reduce(cluster, NcclVersion::v2_7_8);
  const Bandwidth rate = lockstep_rate(plan.pattern, link_uses(plan.pattern), all_capacities(cluster));
  return closed_form(all_reduce(plan, size, 0), rate);
}

}  // namespace trainyard
