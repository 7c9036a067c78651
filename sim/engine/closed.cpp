#include "config/diagnostic.hpp"
#include "engine/executors.hpp"

#include <algorithm>

namespace trainyard::engine {

namespace {

class ClosedExecutor final : public CollectiveExecutor {
public:
  ClosedExecutor(std::vector<Seconds> durations, Calendar& calendar)
      : durations_(std::move(durations)), calendar_(calendar) {}

  void arrive(int, int, double) override {}
  void start(int collective, double date) override {
    calendar_.enter(date + durations_[at(collective)].si(), EventKind::over, collective);
  }

private:
  std::vector<Seconds> durations_;
  Calendar& calendar_;
};

std::vector<Seconds> durations(const TaskGraph& graph, std::span<const std::vector<LinkUse>> uses) {
  std::vector<Bandwidth> rates;
  for (const std::vector<LinkUse>& of_pattern : uses) rates.push_back(lockstep_rate(of_pattern, graph.links));
  std::vector<Seconds> all;
  for (const Collective& collective : graph.collectives) {
    Seconds sum = collective.overhead;
    for (const CollectivePhase& phase : collective.phases)
      sum += closed_form(phase, std::min(rates[at(phase.pattern)], phase.limit));
    all.push_back(sum);
  }
  return all;
}

}  // namespace

Timeline run_closed(const TaskGraph& graph, const EngineOptions& options) {
  const bool has_given_times = !options.variant.collectives.empty();
  if (!graph.link_events.empty() && !has_given_times) {
    throw InputError("fidelity closed cannot simulate links that change during the run",
                     "use fidelity: flow, rounds or messages");
  }
  std::vector<std::vector<LinkUse>> uses;
  for (std::size_t i = 0; !has_given_times && i < graph.patterns.size(); ++i)
    uses.push_back(link_uses(graph.patterns[i]));
  Calendar calendar;
  ClosedExecutor executor(has_given_times ? options.variant.collectives : durations(graph, uses), calendar);
  std::vector<Bytes> carried(graph.patterns.size());  // per edge
  Replay replay(graph, options, calendar);
  replay.begin(executor);
  while (!calendar.empty() && !replay.done()) {
    const Event event = calendar.pop();
    if (event.kind == EventKind::over) {
      if (!has_given_times) {
        for (const CollectivePhase& phase : graph.collectives[at(event.target)].phases)
          carried[at(phase.pattern)] += phase.bytes * phase.messages;
      }
      replay.leave_all(event.target, event.date);
    } else {
      replay.wake(event.target, event.item, event.date);
    }
  }
  if (has_given_times) return replay.finish({});
  std::vector<double> link_bytes(graph.links.size(), 0);
  for (std::size_t pattern = 0; pattern < uses.size(); ++pattern)
    add_link_bytes(carried[pattern], uses[pattern], link_bytes);
  return replay.finish(std::move(link_bytes));
}

}  // namespace trainyard::engine
