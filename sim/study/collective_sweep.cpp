#include "study/collective_sweep.hpp"

#include "collectives/all_reduce.hpp"
#include "collectives/bounds.hpp"
#include "collectives/ring.hpp"
#include "schedule/step_plan.hpp"

#include <fmt/format.h>

namespace trainyard {

CollectiveReport time_collective(const Cluster& cluster, const CollectiveSweep& sweep) {
  const int ranks = cluster.ranks();
  if (ranks < 2) throw InputError("a collective needs at least 2 ranks", "ask for more GPUs");
  const AllReducePlan plan = plan_all_reduce(cluster, sweep.nccl);
  if (sweep.algorithm == Algorithm::ring) require_ring(plan);

  // One after another on one stream: one simulation answers for all sizes.
  TaskGraph graph;
  graph.links = capacities(cluster);
  graph.patterns = {plan.pattern};
  graph.program_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  Program& program = graph.programs.emplace_back();
  for (const Bytes size : sweep.sizes) {
    program.streams[static_cast<int>(Stream::communication)].emplace_back(
        Join{static_cast<int>(graph.collectives.size())});
    graph.collectives.push_back(all_reduce(plan, size, 0));
  }
  const Timeline timeline = run(graph, {.fidelity = sweep.fidelity, .recorded = {}});

  CollectiveReport report{.platform = cluster.platform.name,
                          .ranks = ranks,
                          .nodes = cluster.nodes,
                          .algorithm = plan.algorithm,
                          .protocol = "Simple",
                          .channels = static_cast<int>(plan.channels.size()),
                          .notes = plan.notes,
                          .rows = {}};
  double sum = 0;
  for (std::size_t i = 0; i < sweep.sizes.size(); ++i) {
    const Seconds time = timeline.collectives[i].end - timeline.collectives[i].start;
    const Bytes size = sweep.sizes[i];
    const Seconds bound = all_reduce_bound(cluster, size);
    if (time.si() < bound.si() * (1 - 1e-9)) {
      throw EngineError(fmt::format("an all-reduce of {} bytes beat its bound", size.si()));
    }
    report.rows.push_back({.size = size,
                           .elements = static_cast<std::int64_t>(size.si() / 4),
                           .time = time,
                           .algbw = size / time,
                           .busbw = all_reduce_busbw(ranks, size, time),
                           .bound = bound});
    sum += report.rows.back().busbw.si() / 1e9;
  }
  if (!report.rows.empty()) report.average_busbw_gbs = sum / static_cast<double>(report.rows.size());
  return report;
}

}  // namespace trainyard
