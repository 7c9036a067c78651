#include "schedule/host_reduction.hpp"

#include "config/diagnostic.hpp"
#include "experiment/input_copy.hpp"

namespace trainyard {

Seconds reduce_on_hosts(const HostReduction& rules, const Cluster& cluster, std::span<const Rank> ranks,
                        std::vector<Launch>& launches) {
  const int nodes = index(cluster.node_of(ranks.back())) - index(cluster.node_of(ranks.front())) + 1;
  Seconds all_sums;
  if (nodes == 1) return all_sums;
  for (Launch& launch : launches) {
    if (launch.message || !reduces(launch.operation)) continue;
    const Seconds copy = host_copy_time(cluster, launch.size, 1);
    if (copy <= Seconds()) {
      throw InputError("host_reduction of the stack: the platform has no links between its GPUs and a CPU",
                       "leave it out, or describe them in the platform's node.links");
    }
    const Bytes added = (nodes - 1.0) / nodes * launch.size;
    launch.before = {.name = "copy to host", .duration = copy, .is_of_host = true};
    const Seconds sums = added / rules.sum_per_core.value;
    launch.after = {.name = "sum and copy from host", .duration = sums + copy, .is_of_host = true};
    all_sums += sums;
  }
  return all_sums;
}

}  // namespace trainyard
