#include "schedule/step_variants.hpp"

#include "units/ids.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// The plan's graph without patterns and links, with collectives that take given times.
TaskGraph with_durations(const StepPlan& plan, std::span<const Seconds> durations) {
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
                                 .overhead = durations[graph.collectives.size()],
                                 .phases = {}});
  }
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

StepVariant ideal(const StepPlan& plan) {
  return {.collectives = bounds_of(plan), .slowed_by = SlowedBy::nothing};
}

StepVariant without_network(const StepPlan& plan) {
  return {.collectives = std::vector<Seconds>(plan.graph.collectives.size()), .slowed_by = SlowedBy::kernels};
}

StepVariant undisturbed(StepVariant variant) {
  variant.slowed_by = SlowedBy::nothing;
  return variant;
}

std::vector<Seconds> bounds_of(const StepPlan& plan) {
  std::vector<Seconds> bounds;
  for (const Collective& collective : plan.graph.collectives) bounds.push_back(collective.label.bound);
  return bounds;
}

TaskGraph paced_step(const StepPlan& plan, std::span<const Seconds> collectives,
                     const std::vector<bool>& is_paced, double pace) {
  TaskGraph graph = with_durations(plan, collectives);
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
