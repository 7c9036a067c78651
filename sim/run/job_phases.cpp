#include "run/job_phases.hpp"

#include "collectives/planner.hpp"
#include "engine/makespan.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/job_needs.hpp"
#include "experiment/model_trace.hpp"
#include "platform/channels.hpp"
#include "run/energy.hpp"
#include "schedule/step_plan.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <vector>

namespace trainyard {

namespace {

/// Without collectives, one rank stands for all.
std::vector<Rank> planned_ranks(const Trace& forward, const Cluster& cluster) {
  const auto communicates = [](const Op& op) { return !op.communications.empty(); };
  if (std::ranges::any_of(forward.ops, communicates)) return all_ranks(cluster);
  return {Rank{0}};
}

}  // namespace

ForwardPass forward_pass(const ResolvedExperiment& resolved, int batch) {
  const Trace forward = forward_trace(resolved, batch);
  const Cluster& cluster = *resolved.cluster;
  const StepPlan plan =
      plan_step(forward, resolved.gpu, resolved.stack, cluster, planned_ranks(forward, cluster),
                resolved.settings.sync, resolved.library, resolved.grid ? &*resolved.grid : nullptr);
  ForwardPass pass;
  pass.time = with_input(closed_makespan(plan.graph), data_loading(at_batch(resolved, batch), cluster),
                         resolved.settings.input);
  if (energy_unknown(resolved.platform, resolved.gpu, forward)) return pass;
  pass.energy = static_cast<double>(cluster.ranks()) *
                    gpu_energy(plan.graph.programs.front(), forward, pass.time, resolved.gpu) +
                cluster.nodes * node_overhead(resolved.platform, resolved.gpu)->value * pass.time;
  return pass;
}

namespace {

/// One collective that has the network to itself.
Seconds time_alone(const ResolvedExperiment& resolved, Planner planner, Bytes size) {
  const Cluster& cluster = *resolved.cluster;
  TaskGraph graph;
  graph.links = link_capacities(cluster);
  graph.collectives.push_back(planner.collective(size, graph.patterns));
  Program& program = graph.programs.emplace_back();
  program.of(Stream::communication).emplace_back(Join{0});
  graph.program_of_rank.assign(at(cluster.ranks()), 0);
  return closed_makespan(graph);
}

}  // namespace

Seconds broadcast_time(const ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  if (cluster.ranks() == 1) return {};
  const Bytes size = parameters_of(resolved) * element_sizes(resolved.settings.precision).gradient;
  return time_alone(
      resolved,
      Planner(cluster, resolved.library,
              {.operation = Operation::broadcast, .groups = {all_ranks(cluster)}, .root = Rank{0}}),
      size);
}

Seconds metric_time(const ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  if (cluster.ranks() == 1) return {};
  constexpr Bytes value{4};
  const auto& fusion = resolved.stack.fusion;
  return (fusion ? fusion->cycle_time.value : Seconds{}) +
         time_alone(resolved,
                    Planner(cluster, resolved.library,
                            {.operation = Operation::all_reduce, .groups = {all_ranks(cluster)}}),
                    value);
}

}  // namespace trainyard
