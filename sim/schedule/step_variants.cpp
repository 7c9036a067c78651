#include "schedule/step_variants.hpp"

#include "units/ids.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// The plan's graph with collectives that take given times, independent of other events.
template <class DurationOf>
TaskGraph with_durations(const StepPlan& plan, DurationOf duration_of) {
  TaskGraph graph;
  graph.programs = plan.graph.programs;
  graph.segments = plan.graph.segments;
  graph.program_of_rank = plan.graph.program_of_rank;
  for (const Collective& collective : plan.graph.collectives) {
    graph.collectives.push_back({.operation = collective.operation,
                                 .size = collective.size,
                                 .participants = collective.participants,
                                 .group_size = collective.group_size,
                                 .rounds = collective.rounds,
                                 .overhead = duration_of(graph.collectives.size()),
                                 .phases = {}});
  }
  return graph;
}

/// The graph with collectives that use nothing of the GPU.
TaskGraph without_use(TaskGraph graph) {
  for_each_task<Join>(graph, [](Join& join) { join.use = {}; });
  return graph;
}

/// Leaves one rank of each program that ranks run.
void keep_one_rank_each(TaskGraph& graph) {
  std::vector<int>& programs = graph.program_of_rank;
  std::ranges::sort(programs);
  programs.erase(std::unique(programs.begin(), programs.end()), programs.end());
  for (Collective& collective : graph.collectives) collective.participants = 0;
  for (const int program : programs) {
    for_each_task<Join>(graph.programs[at(program)],
                        [&](const Join& join) { ++graph.collectives[at(join.collective)].participants; });
  }
}

}  // namespace

TaskGraph ideal(const StepPlan& plan) {
  return undisturbed(without_use(
      with_durations(plan, [&](std::size_t i) { return plan.graph.collectives[i].label.bound; })));
}

TaskGraph without_network(const StepPlan& plan) {
  return without_use(with_durations(plan, [](std::size_t) { return Seconds(); }));
}

TaskGraph undisturbed(TaskGraph graph) {
  for_each_task<Compute>(graph, [](Compute& compute) { compute.use = {}; });
  return graph;
}

TaskGraph paced_step(const StepPlan& plan, std::span<const Seconds> collectives,
                     const std::vector<bool>& is_paced, double pace) {
  TaskGraph graph = with_durations(plan, [&](std::size_t i) { return collectives[i]; });
  keep_one_rank_each(graph);
  for (Program& program : graph.programs) {
    for_each_task<Compute>(program, [&](Compute& kernel) {
      if (kernel.op < 0 || !is_paced[at(kernel.op)]) return;
      kernel.duration = kernel.duration * pace;
      kernel.overhead = kernel.overhead * pace;
    });
  }
  return graph;
}

}  // namespace trainyard
