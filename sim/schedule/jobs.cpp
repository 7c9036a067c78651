#include "schedule/jobs.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// Traffic is sent in pieces of this length at its own rate: many per step, few per message.
constexpr Seconds piece{1e-3};

/// The number of the next job. Gives every rank a job number first.
int next_job(TaskGraph& graph) {
  graph.job_of_rank.resize(graph.program_of_rank.size(), 0);
  return 1 + *std::ranges::max_element(graph.job_of_rank);
}

/// The program with its collectives renumbered from `first_collective`.
Program renumbered(Program program, int first_collective) {
  for_each_task<Join>(program, [&](Join& join) { join.collective += first_collective; });
  return program;
}

}  // namespace

void add_job(TaskGraph& graph, const TaskGraph& other) {
  const int job = next_job(graph);
  const auto first_pattern = static_cast<int>(graph.patterns.size());
  const auto first_collective = static_cast<int>(graph.collectives.size());
  const auto first_program = static_cast<int>(graph.programs.size());
  if (graph.links.empty()) graph.links = other.links;
  graph.patterns.insert(graph.patterns.end(), other.patterns.begin(), other.patterns.end());
  for (Collective collective : other.collectives) {
    for (CollectivePhase& phase : collective.phases) phase.pattern += first_pattern;
    collective.label = {};  // names are those of the simulated job
    graph.collectives.push_back(std::move(collective));
  }
  for (const Program& program : other.programs)
    graph.programs.push_back(renumbered(program, first_collective));
  for (std::size_t rank = 0; rank < other.program_of_rank.size(); ++rank) {
    const Program& program = other.programs[at(other.program_of_rank[rank])];
    if (std::ranges::all_of(program.streams, [](const auto& stream) { return stream.empty(); })) continue;
    graph.job_of_rank[rank] = job;
    graph.program_of_rank[rank] = first_program + other.program_of_rank[rank];
  }
}

void add_background(TaskGraph& graph, const Route& way, Bandwidth rate) {
  const int job = next_job(graph);
  const int sender = graph.ranks();
  Pattern pattern;
  pattern.add_edge({Rank{sender}, Rank{sender + 1}}, way.links);
  Program program;
  program.of(Stream::communication) = {Join{static_cast<int>(graph.collectives.size())}};
  graph.collectives.push_back({.operation = Operation::send_recv,
                               .size = rate * piece,
                               .participants = 2,
                               .group_size = 2,
                               .one_way = true,
                               .overhead = Seconds{},
                               .phases = {{.pattern = static_cast<int>(graph.patterns.size()),
                                           .messages = 1,
                                           .hops = 0,
                                           .latency = Seconds{},
                                           .bytes = rate * piece,
                                           .limit = rate}}});
  graph.patterns.push_back(std::move(pattern));
  graph.program_of_rank.insert(graph.program_of_rank.end(), 2, static_cast<int>(graph.programs.size()));
  graph.job_of_rank.insert(graph.job_of_rank.end(), 2, job);
  graph.programs.push_back(std::move(program));
}

}  // namespace trainyard
