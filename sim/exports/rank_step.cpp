#include "exports/rank_step.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

void require_step_by_ops(const ResolvedExperiment& resolved, const std::string& what) {
  if (is_multi_update(resolved.settings))
    throw InputError(fmt::format("{} shows one steady step, but here updates differ from each other", what),
                     "leave out parameter servers, asynchronous update rules and random times");
  if (resolved.layout)
    throw InputError(
        fmt::format("{} shows every op of a rank, but here a pass of a micro-batch is one event", what),
        "leave out 'parallelism'");
  if (resolved.settings.traces)
    throw InputError(
        fmt::format("{} has one step for all ranks, but here they replay traces of their own", what),
        "name one 'trace'");
}

RankStep rank_step(const Run& run, Rank rank, const std::string& what) {
  require_step_by_ops(run.experiment, what);
  if (index(rank) >= run.ranks)
    throw InputError(fmt::format("there is no rank {}: the experiment has {}", index(rank), run.ranks));
  const Step& step = step_of(run);
  const Cluster& cluster = *run.experiment.cluster;
  RankStep made{.rank = rank,
                .device = index(rank) - cluster.first_rank[at(index(cluster.node_of(rank)))],
                .trace = &class_of(run.experiment, rank).trace};
  for (const TimelineEvent& bar : step.bars) {
    if (bar.rank != rank) continue;
    if (bar.stream == Stream::compute)
      made.compute.push_back(&bar);
    else if (bar.stream == Stream::host)
      made.host.push_back(&bar);
    else
      made.other_work.push_back(&bar);
  }
  if (made.compute.empty())
    throw InputError(fmt::format("rank {} is not among those that the result shows op by op", index(rank)),
                     "they are the first 16; the others are like them");
  const auto by_start = [](const TimelineEvent* a, const TimelineEvent* b) { return a->start < b->start; };
  std::ranges::stable_sort(made.compute, by_start);
  std::ranges::stable_sort(made.other_work, by_start);
  std::ranges::stable_sort(made.host, by_start);
  for (const TimelineEvent* bar : made.other_work)
    made.ready_op[bar->collective] = step.plan.graph.collectives[at(bar->collective)].label.ready_op;
  return made;
}

}  // namespace trainyard
