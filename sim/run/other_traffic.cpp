#include "run/other_traffic.hpp"

#include "experiment/shared_network.hpp"
#include "schedule/jobs.hpp"
#include "schedule/step_plan.hpp"
#include "units/plural.hpp"

#include <fmt/format.h>

namespace trainyard {

std::vector<LinkEvent> link_events(const ResolvedExperiment& resolved, const Cluster& cluster) {
  std::vector<LinkEvent> events;
  for (const LinkChange& change : resolved.settings.events)
    events.push_back({change.at, link_named(cluster, change.link), change.bandwidth, change.link});
  return events;
}

void add_other_traffic(const ResolvedExperiment& resolved, const Cluster& cluster, TaskGraph& graph) {
  int first = resolved.cluster->ranks();
  for (const ResolvedExperiment& other : resolved.neighbours) {
    std::vector<Rank> ranks;
    for (const int end = first + other.cluster->ranks(); first < end; ++first) ranks.push_back(Rank{first});
    add_job(graph, plan_step(only_class(other).trace, other.gpu, other.stack, cluster, ranks,
                             other.settings.sync, other.library)
                       .graph);
  }
  for (const BackgroundTraffic& traffic : resolved.settings.background) {
    if (graph.links.empty()) graph.links = link_capacities(cluster);
    add_background(graph, route(cluster, rank_named(cluster, traffic.from), rank_named(cluster, traffic.to)),
                   traffic.rate);
  }
  graph.link_events = link_events(resolved, cluster);
}

std::vector<std::string> other_traffic_notes(const ResolvedExperiment& resolved) {
  std::vector<std::string> notes;
  for (const ResolvedExperiment& other : resolved.neighbours) {
    notes.push_back(fmt::format("{} runs concurrently on {} and starts at the same time", other.name,
                                plural(other.cluster->ranks(), "other rank")));
  }
  if (!resolved.settings.background.empty()) {
    const std::size_t sources = resolved.settings.background.size();
    notes.push_back(sources == 1
                        ? std::string("one source of background traffic shares the network")
                        : fmt::format("{} sources of background traffic share the network", sources));
  }
  return notes;
}

}  // namespace trainyard
