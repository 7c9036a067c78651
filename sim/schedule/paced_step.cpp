#include "schedule/paced_step.hpp"

#include "units/ids.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// The programs that ranks run, one rank each.
std::vector<int> programs_in_use(const TaskGraph& graph) {
  std::vector<int> used = graph.program_of_rank;
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

void count_participants(TaskGraph& graph) {
  for (const int program : graph.program_of_rank) {
    for (const std::vector<Task>& stream : graph.programs[at(program)].streams) {
      for (const Task& task : stream) {
        if (const auto* join = std::get_if<Join>(&task))
          ++graph.collectives[at(join->collective)].participants;
      }
    }
  }
}

}  // namespace

TaskGraph paced_step(const StepPlan& plan, std::span<const Seconds> collectives,
                     const std::vector<bool>& is_paced, double pace) {
  TaskGraph graph;
  graph.programs = plan.graph.programs;
  graph.program_of_rank = programs_in_use(plan.graph);
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const Collective& planned = plan.graph.collectives[i];
    graph.collectives.push_back({.operation = planned.operation,
                                 .size = planned.size,
                                 .participants = 0,
                                 .overhead = collectives[i],
                                 .phases = {}});
  }
  count_participants(graph);
  for (Program& program : graph.programs) {
    for (Task& task : program.streams[static_cast<int>(Stream::compute)]) {
      auto* kernel = std::get_if<Compute>(&task);
      if (kernel == nullptr || kernel->op < 0 || !is_paced[at(kernel->op)]) continue;
      kernel->duration = kernel->duration * pace;
      kernel->overhead = kernel->overhead * pace;
    }
  }
  return graph;
}

}  // namespace trainyard
