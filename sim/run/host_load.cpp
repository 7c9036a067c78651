#include "run/host_load.hpp"

#include <algorithm>

namespace trainyard {

HostLoad host_load(const ServerPlan& plan, int worker_nodes, int cpus, int steps_per_push) {
  std::vector<double> bytes(plan.links.size());
  for (const WorkerWays& worker : plan.workers) {
    for (std::size_t message = 0; message < plan.messages.size(); ++message) {
      const Bytes part = plan.messages[message].bytes / static_cast<double>(plan.parts);
      const std::size_t way = at(plan.way_of_message[message]);
      for (const ServerWay* road : {&worker.push[way], &worker.pull[way]}) {
        for (const int link : road->links) bytes[at(link)] += part.si();
      }
    }
  }
  std::vector<HostLoad> loads(at(worker_nodes));
  for (const ServerPlan::Resource& resource : plan.resources) {
    if (index(resource.node) >= worker_nodes) continue;
    HostLoad& load = loads[at(index(resource.node))];
    const Seconds busy = Bytes{bytes[at(resource.link)]} / plan.links[at(resource.link)];
    (resource.is_memory ? load.memory : load.cores) += busy / (static_cast<double>(cpus) * steps_per_push);
  }
  HostLoad most;
  for (const HostLoad& load : loads) {
    most.cores = std::max(most.cores, load.cores);
    most.memory = std::max(most.memory, load.memory);
  }
  return most;
}

}  // namespace trainyard
