#include "run/other_traffic.hpp"

#include "experiment/shared_network.hpp"
#include "schedule/jobs.hpp"
#include "schedule/step_plan.hpp"

#include <fmt/format.h>

namespace trainyard {

std::vector<LinkEvent> link_events(const Inputs& inputs, const Cluster& cluster) {
  std::vector<LinkEvent> events;
  for (const LinkChange& change : inputs.experiment.events)
    events.push_back({change.at, link_named(cluster, change.link), change.bandwidth, change.link});
  return events;
}

void add_others(const Inputs& inputs, const Cluster& cluster, TaskGraph& graph) {
  int first = cluster_of(inputs).ranks();
  for (const Inputs& other : inputs.neighbours) {
    std::vector<Rank> ranks;
    for (const int end = first + cluster_of(other).ranks(); first < end; ++first)
      ranks.push_back(Rank{first});
    add_job(graph,
            plan_step(other.trace, other.gpu, other.stack, cluster, ranks, other.experiment.sync, other.costs)
                .graph);
  }
  for (const BackgroundTraffic& traffic : inputs.experiment.background) {
    if (graph.links.empty()) graph.links = capacities(cluster);
    add_background(graph, route(cluster, rank_named(cluster, traffic.from), rank_named(cluster, traffic.to)),
                   traffic.rate);
  }
  graph.link_events = link_events(inputs, cluster);
}

std::vector<std::string> notes_on_others(const Inputs& inputs) {
  std::vector<std::string> notes;
  for (const Inputs& other : inputs.neighbours) {
    notes.push_back(fmt::format("{} runs beside it on {} further ranks, beginning at the same time",
                                other.name, cluster_of(other).ranks()));
  }
  if (!inputs.experiment.background.empty()) {
    const std::size_t sources = inputs.experiment.background.size();
    notes.push_back(sources == 1
                        ? std::string("one source of background traffic shares the network")
                        : fmt::format("{} sources of background traffic share the network", sources));
  }
  return notes;
}

}  // namespace trainyard
