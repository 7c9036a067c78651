#include "engine/flow_executor.hpp"

#include "engine/link_faults.hpp"

namespace trainyard::engine {

void FlowExecutor::on_event(const Event& event) {
  if (is_over_) return;
  switch (event.kind) {
    case EventKind::link_change:
      change_link(event.target);
      break;
    case EventKind::wake:
      replay_.wake(event.target, event.item, event.date);
      break;
    default:
      on_own_event(event);
  }
  check_end();
}

void FlowExecutor::on_delivered(std::uint64_t tag, double date) {
  if (is_over_) return;
  deliver(tag, date);
  check_end();
}

void FlowExecutor::check_end() {
  if (!replay_.done()) return;
  is_over_ = true;
  for (const ChangingNetwork::InFlight& flow : network_.in_flight()) count_in_flight(flow);
}

Timeline run_flows(const TaskGraph& graph, ChangingNetwork& network, Calendar& calendar, Replay& replay,
                   FlowExecutor& executor) {
  replay.begin(executor);
  network.run(calendar, executor);
  check_failed_links(graph, replay);
  Timeline timeline = replay.finish(executor.link_bytes());
  timeline.events += network.flows();
  return timeline;
}

}  // namespace trainyard::engine
