#include "engine/link_faults.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace trainyard::engine {

namespace {

/// The last event of every link that failed and was not restored.
std::map<LinkId, const LinkEvent*> failed_links(const TaskGraph& graph) {
  std::map<LinkId, const LinkEvent*> last;
  for (const LinkEvent& event : graph.link_events) {
    const LinkEvent*& known = last[event.link];
    // the later in the list wins at equal dates, as in the calendar
    if (known == nullptr || event.date >= known->date) known = &event;
  }
  std::erase_if(last, [](const auto& entry) { return entry.second->bandwidth > Bandwidth{}; });
  return last;
}

bool crosses(const Pattern& pattern, LinkId link) {
  if (!pattern.counted.empty()) return pattern.counted[index(link)] > 0;
  const auto& of_edges = pattern.links;
  return std::find(of_edges.begin(), of_edges.end(), link) != of_edges.end() ||
         std::any_of(pattern.uses.begin(), pattern.uses.end(),
                     [&](const LinkUse& use) { return use.link == link; });
}

std::string name_of(const TaskGraph& graph, int collective) {
  const std::string& name = graph.collectives[at(collective)].label.name;
  return name.empty() ? fmt::format("collective {}", collective) : name;
}

}  // namespace

Calendar calendar_of_links(const TaskGraph& graph) {
  Calendar calendar;
  for (std::size_t i = 0; i < graph.link_events.size(); ++i) {
    const LinkEvent& event = graph.link_events[i];
    if (index(event.link) >= graph.links.size()) {
      throw InputError(fmt::format("there is no link {}", index(event.link)),
                       fmt::format("links are numbered from 0 to {}", graph.links.size() - 1));
    }
    if (!(event.date >= Seconds{}) || !(event.bandwidth >= Bandwidth{}) ||
        !std::isfinite(event.bandwidth.si())) {
      throw InputError(fmt::format("link {} cannot have {} B/s at {} s", event.name, event.bandwidth.si(),
                                   event.date.si()),
                       "use dates and bandwidths of 0 or more");
    }
    calendar.enter(event.date.si(), EventKind::link_change, static_cast<int>(i));
  }
  return calendar;
}

void check_failed_links(const TaskGraph& graph, const Replay& replay) {
  if (replay.done()) return;
  const std::map<LinkId, const LinkEvent*> failed = failed_links(graph);
  if (failed.empty()) return;
  for (const int collective : replay.waiting_collectives()) {
    for (const CollectivePhase& phase : graph.collectives[at(collective)].phases) {
      for (const auto& [link, event] : failed) {
        if (!crosses(graph.patterns[at(phase.pattern)], link)) continue;
        const std::string link_name =
            event->name.empty() ? fmt::format("number {}", index(link)) : event->name;
        throw JobImpossible(
            fmt::format("the job cannot end: link {} failed at {} s, and {} waits for it forever; {}",
                        link_name, event->date.si(), name_of(graph, collective), replay.who_waits()));
      }
    }
  }
}

}  // namespace trainyard::engine
