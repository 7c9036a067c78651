#pragma once
// The load that parameter servers put on the hosts they share with workers.

#include "experiment/data_loading.hpp"
#include "schedule/server_plan.hpp"

namespace trainyard {

/// The load of a plan's servers on the busiest node with workers, averaged over its `cpus` CPUs, for each
/// step of all workers: every worker pushes and pulls once in `steps_per_push`.
HostLoad host_load(const ServerPlan& plan, int worker_nodes, int cpus, int steps_per_push);

}  // namespace trainyard
