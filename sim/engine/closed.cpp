#include "engine/carriers.hpp"
#include "engine/link_bytes.hpp"

namespace trainyard::engine {

namespace {

class ClosedCarrier final : public Carrier {
public:
  ClosedCarrier(std::vector<Seconds> durations, Calendar& calendar)
      : durations_(std::move(durations)), calendar_(calendar) {}

  void arrive(int, int, double) override {}
  void start(int collective, double date) override {
    calendar_.enter(date + durations_[static_cast<std::size_t>(collective)].si(), collective, -1);
  }

private:
  std::vector<Seconds> durations_;
  Calendar& calendar_;
};

}  // namespace

Timeline run_closed(const TaskGraph& graph, const EngineOptions& options) {
  const std::vector<std::vector<LinkUse>> uses = uses_of_patterns(graph);
  std::vector<Seconds> durations;
  for (const Collective& collective : graph.collectives) {
    const auto pattern = static_cast<std::size_t>(collective.pattern);
    const Bandwidth rate = lockstep_rate(graph.patterns[pattern], uses[pattern], graph.links);
    durations.push_back(closed_form(collective, rate));
  }

  Calendar calendar;
  ClosedCarrier carrier(std::move(durations), calendar);
  Replay replay(graph, options, calendar);
  replay.begin(carrier);
  while (!calendar.empty()) {
    const Event event = calendar.pop();
    if (event.stream < 0) {
      replay.leave_all(event.target, event.date);
    } else {
      replay.wake(event.target, event.stream, event.date);
    }
  }
  Timeline timeline = replay.finish();
  timeline.link_bytes.assign(graph.links.size(), 0);
  for (const Collective& collective : graph.collectives) {
    add_link_bytes(collective.bytes * collective.rounds, uses[static_cast<std::size_t>(collective.pattern)],
                   timeline.link_bytes);
  }
  return timeline;
}

}  // namespace trainyard::engine
